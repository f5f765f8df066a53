package plan

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// arrival is how the pods stand in the end.
type arrival struct {
	update, current string
	// count is how many there are, kinds the same by revision; bad are the revisions with pods that will never be available.
	count, available int
	kinds            map[string]int
	bad              map[string]bool
}

func (w *world) arrive() (arrival, error) {
	o := w.observe()
	revisions := revisionsOf(o)
	a := arrival{update: revisions.Update.Hash, kinds: map[string]int{}, bad: map[string]bool{}}
	if revisions.Current != nil {
		a.current = revisions.Current.Hash
	}
	for _, p := range standing(w, o) {
		hash := revisions.hashOf(p)
		a.count++
		a.kinds[hash]++
		if err := w.checkSpec(p, revisions); err != nil {
			return a, err
		}
		switch {
		case w.isServing(p):
			a.available++
		case w.nodes[p.UID].image == badImage:
			a.bad[hash] = true
		default:
			return a, fmt.Errorf("arrived: %s is not available", p.Name)
		}
	}
	return a, nil
}

// checkSpec: a pod is what its label says, unless it was made by hand.
func (w *world) checkSpec(p *corev1.Pod, revisions Revisions) error {
	revision := revisions.others[p.Labels[v1.LabelRevision]]
	if p.Labels[v1.LabelRevision] == revisions.Update.Hash {
		revision = revisions.Update
	}
	if w.nodes[p.UID].byHand || revision == nil || revision.Template() == nil || equality.Semantic.DeepEqual(p.Spec.Containers, revision.Template().Spec.Containers) {
		return nil
	}
	return fmt.Errorf("arrived: %s is not what its revision %s says: %+v", p.Name, revision.Hash, p.Spec.Containers)
}

// base is the revision that pods may have besides the present one; empty if there is none.
func (a arrival) base() string {
	if a.current != "" {
		if a.current == a.update {
			return ""
		}
		return a.current
	}
	for hash := range a.kinds {
		if hash != a.update {
			return hash
		}
	}
	return ""
}

// checkArrived: all is as the spec says, and the status says so.
func (w *world) checkArrived() error {
	a, err := w.arrive()
	if err != nil {
		return err
	}
	m, status := w.manager, &w.manager.Status
	desired, ready := m.DesiredReplicas(), reasonOf(status, v1.ConditionReady)
	isLeftAlone := m.Spec.Paused || m.Strategy() == v1.OnDeleteStrategy
	isRolledBack := status.FailedRevision == status.UpdateRevision && m.OnFailure() != v1.ContinueOnFailure
	at := fmt.Sprintf("arrived with %v, %d wanted, update %s, current %s, Ready %s: %s, Stalled %s", a.kinds, desired, a.update, a.current, ready,
		messageOf(status, v1.ConditionReady), reasonOf(status, v1.ConditionStalled))
	want := counts(a.update, desired, "", 0)
	switch base := a.base(); {
	case m.Spec.Paused && a.current == "" && a.count == 0:
		return expect(ready == v1.ReasonPaused || ready == v1.ReasonScaledToZero, at)
	case m.Spec.Paused && m.Strategy() == v1.RecreateStrategy && a.count < desired:
		return nil // they may not be completed with pods of another revision
	case a.bad[a.update] && (!isRolledBack || isLeftAlone):
		return expect(w.isStuckWell(a), at)
	case ready == v1.ReasonNotInPlace && w.restarted && strings.Contains(at, "not known any more"):
		return nil // the template was changed to be rolled out in place only, before the one before was stored, while nobody watched
	case len(a.bad) > 0 && a.kinds[a.update] < a.count && (a.current == "" || isLeftAlone):
		return expect(meta.IsStatusConditionFalse(status.Conditions, v1.ConditionReady), at)
	case len(a.bad) > 0 || a.count < desired || a.count > desired && !m.Spec.Paused || a.count > desired+m.MaxSurge():
		return errors.New(at)
	case isRolledBack && isLeftAlone:
		return expect(ready == v1.ReasonRolledBack, at)
	case isRolledBack:
		return expect(maps.Equal(a.kinds, counts(a.current, desired, "", 0)) && ready == v1.ReasonRolledBack, at)
	case base != "" && (m.Partition() > 0 || isLeftAlone):
		want = counts(base, m.Partition(), a.update, desired-m.Partition())
	}
	isReady := ready == v1.ReasonAllAvailable || ready == v1.ReasonScaledToZero || ready == v1.ReasonPartition
	if isLeftAlone && !m.Spec.Paused && !maps.Equal(a.kinds, want) {
		return expect(meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) && ready == v1.ReasonUpdateOnDelete, at)
	}
	if isLeftAlone {
		return expect(isReady == maps.Equal(a.kinds, want), at)
	}
	isGood := status.CurrentRevision == status.UpdateRevision || desired == 0 || ready == v1.ReasonPartition
	return expect(isReady && isGood && maps.Equal(a.kinds, want), at)
}

// isStuckWell tells whether a bad revision has done no more harm than it may, and is told of.
func (w *world) isStuckWell(a arrival) bool {
	m, status := w.manager, &w.manager.Status
	isStalled := reasonOf(status, v1.ConditionStalled) != ""
	switch {
	case a.count < m.DesiredReplicas():
		return false
	case a.count > m.DesiredReplicas()+m.MaxSurge() && a.available > m.DesiredReplicas()-m.MaxUnavailable():
		return false // with fewer available, the surplus may have to stay
	case m.Spec.Paused || m.Strategy() == v1.OnDeleteStrategy:
		return meta.IsStatusConditionFalse(status.Conditions, v1.ConditionReady)
	case a.current == "" || m.Strategy() == v1.RecreateStrategy:
		return isStalled
	case m.OnFailure() == v1.RollbackOnFailure:
		return false
	default:
		// Pods of a third revision may have to stay, because a bad pod is all that may be unavailable.
		return isStalled && (a.kinds[a.current] >= m.Partition() || len(a.kinds) > 2)
	}
}

// counts are two counts by revision, as far as they are not zero.
func counts(one string, count int, other string, more int) map[string]int {
	all := map[string]int{one: count, other: more}
	maps.DeleteFunc(all, func(_ string, count int) bool { return count == 0 })
	return all
}

func expect(ok bool, text string) error {
	if ok {
		return nil
	}
	return errors.New(text)
}
