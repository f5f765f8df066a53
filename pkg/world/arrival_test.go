package world

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// arrival is how the pods stand in the end.
type finalState struct {
	*World
	update, current string
	// count is how many there are, kinds the same by revision; bad are the revisions with pods that will never be available.
	count, available int
	byRevision       map[string]int
	badRevisions     map[string]bool
	// stuck is how many pods are going and never go.
	stuck int
	// obstacle tells that pods may only be updated in place, and one cannot be.
	notInPlace bool
}

func (w *World) newFinalState() (*finalState, error) {
	a := &finalState{World: w, update: w.updateHash, current: w.currentHash(), byRevision: map[string]int{}, badRevisions: map[string]bool{}}
	for _, p := range w.Pods {
		if p.DeletionTimestamp != nil && p.Labels[v1.LabelManager] == w.Manager.Name {
			a.stuck++
		}
	}
	var unlike error
	for _, p := range w.activePods() {
		hash := w.hashOf(p)
		a.count++
		a.byRevision[hash]++
		a.notInPlace = a.notInPlace || a.cannotUpdateInPlace(p)
		if err := w.checkSpec(p); err != nil {
			unlike = errors.Join(unlike, err)
		}
		switch {
		case w.isAvailable(p):
			a.available++
		case !w.canRun(&corev1.PodTemplateSpec{Spec: p.Spec}):
			a.badRevisions[hash] = true
		default:
			return a, fmt.Errorf("%s is not available", p.Name)
		}
	}
	if a.available <= w.Manager.DesiredReplicas()-w.Manager.MaxUnavailable() {
		unlike = nil // to give a pod back what its revision says may take a restart, and none can be spared
	}
	return a, unlike
}

// isInTheWay tells whether a pod that may only be updated in place cannot be.
func (a *finalState) cannotUpdateInPlace(p *corev1.Pod) bool {
	if a.Manager.PodUpdatePolicy() != v1.InPlaceOnly {
		return false
	}
	hash := a.hashOf(p)
	if hash == a.update {
		return a.isInfeasible(p)
	}
	return !a.isStored(hash) || a.hidden[p.UID].refused == a.update || !canUpdateInPlace(a.templateByHash[hash], a.templateByHash[a.update])
}

// checkSpec: a pod is what its label says, unless it was made by hand, or that cannot be told any more.
func (w *World) checkSpec(p *corev1.Pod) error {
	hash := p.Labels[v1.LabelRevision]
	template := w.templateByHash[hash]
	if w.hidden[p.UID].byHand || template == nil || !w.isStored(hash) || equality.Semantic.DeepEqual(p.Spec.Containers, template.Spec.Containers) {
		return nil
	}
	return fmt.Errorf("%s is not what its revision %s says: %+v", p.Name, hash, p.Spec.Containers)
}

// base is the revision that pods may have besides the present one; empty if there is none.
func (a *finalState) baseHash() string {
	if a.current != "" {
		if a.current == a.update {
			return ""
		}
		return a.current
	}
	for hash := range a.byRevision {
		if hash != a.update && a.isStored(hash) {
			return hash
		}
	}
	return ""
}

// checkArrived: all is as the spec says, and the status says so.
func (w *World) checkFinalState() error {
	a, err := w.newFinalState()
	if err != nil {
		return err
	}
	m, status := w.Manager, &w.Manager.Status
	at := fmt.Sprintf("%v pods, %d wanted, update %s, current %s, bad %v, stuck %d, Ready %s: %s, Stalled %s", a.byRevision, m.DesiredReplicas(), a.update,
		a.current, a.badRevisions, a.stuck, reasonOf(status, v1.ConditionReady), messageOf(status, v1.ConditionReady), reasonOf(status, v1.ConditionStalled))
	for _, check := range []func() (string, bool){a.checkZero, a.checkPaused, a.checkCount, a.checkRevisions} {
		if what, ok := check(); !ok {
			return errors.New(what + ": " + at)
		}
	}
	return nil
}

// isHeldUp tells whether pods that never go keep others from going, or from coming.
func (a *finalState) isBlocked() bool {
	return a.stuck > 0 && (a.Manager.Spec.PodReplacementPolicy == v1.TerminationComplete || a.Manager.PacesScaleDown() ||
		a.Manager.Strategy() == v1.RecreateStrategy)
}

// checkZero: where no pods are wanted there are none, whatever else holds; but no more may go at a time than the pace allows.
func (a *finalState) checkZero() (string, bool) {
	isHeldUp := a.stuck > 0 && a.Manager.PacesScaleDown()
	return "zero is not zero", a.Manager.DesiredReplicas() > 0 || a.count == 0 || isHeldUp
}

// isUnstarted tells whether the rollout was paused before its first pod.
func (a *finalState) isUnstarted() bool {
	return a.Manager.Spec.Paused && a.current == "" && a.count == 0
}

// checkPaused: a pause keeps what a rollout has made beside the pods that are wanted, until somebody scales down: then there are as
// many as are wanted, and none beside them.
func (a *finalState) checkPaused() (string, bool) {
	desired := a.Manager.DesiredReplicas()
	switch {
	case !a.Manager.Spec.Paused || a.isBlocked():
		return "", true
	case a.isUnstarted():
		ready := reasonOf(&a.Manager.Status, v1.ConditionReady)
		return "unstarted", ready == v1.ReasonPaused || ready == v1.ReasonScaledToZero
	case a.Manager.Strategy() == v1.RecreateStrategy: // they may not be completed with pods of another revision
		return "paused with too many", a.count <= desired
	case a.isMarkedWithoutReplacement(), desired >= a.paused.wanted && len(a.byRevision) > 1:
		return "paused", a.count >= desired && a.count <= desired+a.Manager.MaxSurge()
	default:
		return "paused", a.count == desired
	}
}

// isMarkedInVain tells whether a pod is to be replaced beforehand, since none may be unavailable, and what is there for that never is
// available.
func (a *finalState) isMarkedWithoutReplacement() bool {
	return len(a.badRevisions) > 0 && a.Manager.MaxUnavailable() == 0 && slices.ContainsFunc(a.activePods(), isMarkedForDeletion)
}

// checkCount: there are as many pods as are wanted; those of a bad revision may need others beside them.
func (a *finalState) checkCount() (string, bool) {
	m := a.Manager
	desired, most := m.DesiredReplicas(), m.DesiredReplicas()
	if len(a.badRevisions) > 0 || a.notInPlace {
		most += m.MaxSurge()
		if a.available <= desired-m.MaxUnavailable() {
			most = a.count // the surplus may have to stay
		}
	}
	switch {
	case m.Spec.Paused:
		return "", true
	case a.stuck > 0 && m.Spec.PodReplacementPolicy == v1.TerminationComplete:
		return "too few or too many beside those that do not go", a.count >= desired-a.stuck-m.MaxUnavailable() && (a.count <= most || m.PacesScaleDown())
	case a.stuck > 0 && m.Strategy() == v1.RecreateStrategy && a.count < desired:
		return "", true
	case a.stuck > 0 && m.PacesScaleDown():
		return "too few beside those that do not go", a.count >= desired-m.MaxUnavailable()
	default:
		return "too few or too many", a.count >= desired && a.count <= most
	}
}

// checkKinds: the pods have the revision that they are to have, and the status says so.
func (a *finalState) checkRevisions() (string, bool) {
	m, status := a.Manager, &a.Manager.Status
	desired, ready := m.DesiredReplicas(), reasonOf(status, v1.ConditionReady)
	isLeftAlone := m.Spec.Paused || m.Strategy() == v1.OnDeleteStrategy
	isRolledBack := status.FailedRevision == status.UpdateRevision && m.OnFailure() != v1.ContinueOnFailure && a.current != ""
	isReady := meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady)
	want := countsByRevision(a.update, desired, "", 0)
	if base := a.baseHash(); base != "" && (m.Partition() > 0 || isLeftAlone) {
		want = countsByRevision(base, m.Partition(), a.update, desired-m.Partition())
	}
	isAsWanted := maps.Equal(a.byRevision, want)
	switch {
	case a.isBlocked() || a.isUnstarted():
		return "ready beside pods that never go", !isReady || isAsWanted || isLeftAlone
	case desired == 0:
		return "zero is not told", ready == v1.ReasonScaledToZero || isRolledBack || m.Spec.Paused
	case a.notInPlace && !isRolledBack:
		return "an obstacle is not told", ready == v1.ReasonNotInPlace || isLeftAlone || ready == v1.ReasonHalted || !isReady && len(a.badRevisions) > 0 || isAsWanted
	case a.badRevisions[a.update] && (!isRolledBack || isLeftAlone):
		return "stuck with a bad revision", a.isStuckSafely()
	case len(a.badRevisions) > 0:
		// The revision that pods are left with, or return to, is bad, too.
		isToStay := isRolledBack || isLeftAlone || m.Partition() > 0 || a.available <= desired-m.MaxUnavailable()
		return "left with bad pods", !isReady && isToStay
	case status.FailedRevision == status.UpdateRevision && m.OnFailure() != v1.ContinueOnFailure && a.current == "":
		return "rolled back to what is lost", ready == v1.ReasonRolledBack && reasonOf(status, v1.ConditionStalled) == v1.ReasonRolledBack
	case isRolledBack && isLeftAlone:
		return "rolled back and left alone", ready == v1.ReasonRolledBack
	case isRolledBack && m.PodUpdatePolicy() == v1.InPlaceOnly && !maps.Equal(a.byRevision, countsByRevision(a.current, desired, "", 0)):
		return "rolled back as far as possible", a.cannotReturn() && reasonOf(status, v1.ConditionStalled) == v1.ReasonRolledBack
	case isRolledBack:
		return "rolled back", maps.Equal(a.byRevision, countsByRevision(a.current, desired, "", 0)) && ready == v1.ReasonRolledBack
	case m.Spec.Paused:
		return "paused", isReady == isAsWanted
	case isLeftAlone && !isAsWanted:
		return "left alone", isReady && ready == v1.ReasonUpdateOnDelete
	}
	isCurrent := status.CurrentRevision == status.UpdateRevision || ready == v1.ReasonPartition
	return "the end", isReady && isCurrent && isAsWanted
}

// cannotReturn tells whether no pod that is not of the current revision can be changed to it in place.
func (a *finalState) cannotReturn() bool {
	for _, p := range a.activePods() {
		hash := a.hashOf(p)
		if hash != a.current && a.isStored(hash) && a.hidden[p.UID].refused != a.current && canUpdateInPlace(a.templateByHash[hash], a.templateByHash[a.current]) {
			return false
		}
	}
	return true
}

// isStuckWell tells whether a bad revision has done no more harm than it may, and is told of.
func (a *finalState) isStuckSafely() bool {
	m, status := a.Manager, &a.Manager.Status
	isStalled := reasonOf(status, v1.ConditionStalled) != ""
	switch {
	case m.Spec.Paused || m.Strategy() == v1.OnDeleteStrategy || a.current == a.update: // there is no rollout that could be stalled
		return meta.IsStatusConditionFalse(status.Conditions, v1.ConditionReady)
	case a.current == "" || m.Strategy() == v1.RecreateStrategy:
		return isStalled
	case m.OnFailure() == v1.RollbackOnFailure:
		return false
	default:
		// Pods of a third revision may have to stay, because a bad pod is all that may be unavailable.
		hasThird := a.count > a.byRevision[a.update]+a.byRevision[a.current]
		return isStalled && (a.byRevision[a.current] >= m.Partition() || hasThird || reasonOf(status, v1.ConditionReady) == v1.ReasonNotInPlace)
	}
}

// counts are two counts by revision, as far as they are not zero.
func countsByRevision(one string, count int, other string, more int) map[string]int {
	all := map[string]int{one: count, other: more}
	maps.DeleteFunc(all, func(_ string, count int) bool { return count == 0 })
	return all
}
