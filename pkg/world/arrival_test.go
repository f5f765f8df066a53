package world

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// finalState is the state of the pods at the end.
type finalState struct {
	*World
	update, current string
	// count is the number of active pods, and byRevision has it by revision. badRevisions have pods that will never be available.
	count, available int
	byRevision       map[string]int
	badRevisions     map[string]bool
	// stuck is how many pods stay terminating.
	stuck int
	// notInPlace is set if pods may only be updated in place, and a pod cannot be.
	notInPlace bool
}

func (w *World) newFinalState() (*finalState, error) {
	a := &finalState{World: w, update: w.updateHash, current: w.currentHash(), byRevision: map[string]int{}, badRevisions: map[string]bool{}}
	for _, p := range w.Pods {
		if p.DeletionTimestamp != nil && p.Labels[v1.LabelManager] == w.Manager.Name {
			a.stuck++
		}
	}
	var mismatch error
	for _, p := range w.activePods() {
		hash := w.hashOf(p)
		a.count++
		a.byRevision[hash]++
		a.notInPlace = a.notInPlace || a.cannotUpdateInPlace(p)
		if err := w.checkSpec(p); err != nil {
			mismatch = errors.Join(mismatch, err)
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
		mismatch = nil // restoring a pod may need a restart, and no further pod may become unavailable
	}
	return a, mismatch
}

// cannotUpdateInPlace reports whether a pod may only be updated in place, and cannot be.
func (a *finalState) cannotUpdateInPlace(p *corev1.Pod) bool {
	if a.Manager.PodUpdatePolicy() != v1.InPlaceOnly {
		return false
	}
	hash := a.hashOf(p)
	if hash == a.update {
		return a.isInfeasible(p)
	}
	return a.hidden[p.UID].byHand || !a.isStored(hash) || a.hidden[p.UID].refused == a.update || !canUpdateInPlace(a.templateByHash[hash], a.templateByHash[a.update])
}

// checkSpec checks that a pod has the spec of the revision in its label, unless the pod was created by hand or the revision is lost.
func (w *World) checkSpec(p *corev1.Pod) error {
	hash := p.Labels[v1.LabelRevision]
	template := w.templateByHash[hash]
	if w.hidden[p.UID].byHand || template == nil || !w.isStored(hash) || equality.Semantic.DeepEqual(p.Spec.Containers, template.Spec.Containers) {
		return nil
	}
	return fmt.Errorf("%s is not what its revision %s says: %+v", p.Name, hash, p.Spec.Containers)
}

// isAsWanted reports whether the partition has the specified number of pods of other revisions, and all other pods have the new revision. The
// partition has fewer only if no pod can be created for it, because no other revision is known. A good revision is for all pods.
func (a *finalState) isAsWanted() bool {
	other, partition := a.count-a.byRevision[a.update], a.Manager.Partition()
	if a.current == a.update {
		partition = 0
	}
	return a.count == a.Manager.DesiredReplicas() && (other == partition || other < partition && !a.canMakeOld())
}

// checkFinalState checks that the pods match the spec, and that the status says so.
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

// isBlocked reports whether pods that stay terminating keep other pods from being deleted or created.
func (a *finalState) isBlocked() bool {
	return a.stuck > 0 && (a.Manager.Spec.PodReplacementPolicy == v1.TerminationComplete || a.Manager.PacesScaleDown() ||
		a.Manager.Strategy() == v1.RecreateStrategy)
}

// checkZero checks that with zero replicas there are no active pods, unless pods that stay terminating use up scaleDown.maxTerminating.
func (a *finalState) checkZero() (string, bool) {
	isHeldUp := a.stuck > 0 && a.Manager.PacesScaleDown()
	return "zero is not zero", a.Manager.DesiredReplicas() > 0 || a.count == 0 || isHeldUp
}

// isUnstarted reports whether the rollout was paused before its first pod, or with only a few adopted pods.
func (a *finalState) isUnstarted() bool {
	isOwn := func(p *corev1.Pod) bool { return p.Labels[v1.LabelRevision] != "" }
	hasOnlyAdopted := a.count < a.Manager.DesiredReplicas() && !slices.ContainsFunc(a.activePods(), isOwn)
	return a.Manager.Spec.Paused && a.current == "" && (a.count == 0 || hasOnlyAdopted)
}

// checkPaused checks that a pause keeps the surge pods of a rollout until the user scales down. After that, there are exactly the desired pods.
func (a *finalState) checkPaused() (string, bool) {
	desired := a.Manager.DesiredReplicas()
	switch {
	case !a.Manager.Spec.Paused || a.isBlocked():
		return "", true
	case a.isUnstarted():
		ready := reasonOf(&a.Manager.Status, v1.ConditionReady)
		return "unstarted", ready == v1.ReasonPaused || ready == v1.ReasonScaledToZero
	case a.Manager.Strategy() == v1.RecreateStrategy: // Recreate may not add pods of another revision
		return "paused with too many", a.count <= desired
	case a.isMarkedWithoutReplacement(), desired >= a.paused.wanted && len(a.byRevision) > 1:
		return "paused", a.count >= desired && a.count <= desired+a.Manager.MaxSurge()
	default:
		return "paused", a.count == desired
	}
}

// isMarkedWithoutReplacement reports whether a pod is marked for deletion whose replacement must be available first, because maxUnavailable is 0,
// but never will be.
func (a *finalState) isMarkedWithoutReplacement() bool {
	return len(a.badRevisions) > 0 && a.Manager.MaxUnavailable() == 0 && slices.ContainsFunc(a.activePods(), isMarkedForDeletion)
}

// checkCount checks that there are as many active pods as desired. With a bad revision, or in a halt, there may also be surge pods.
func (a *finalState) checkCount() (string, bool) {
	m := a.Manager
	desired, most := m.DesiredReplicas(), m.DesiredReplicas()
	if len(a.badRevisions) > 0 || a.notInPlace || a.isHaltedByGone() {
		most += m.MaxSurge()
		if a.available <= desired-m.MaxUnavailable() {
			most = a.count // no pod may be deleted
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

// checkRevisions checks that the pods have the desired revisions, and that the status says so.
func (a *finalState) checkRevisions() (string, bool) {
	m, status := a.Manager, &a.Manager.Status
	desired, ready := m.DesiredReplicas(), reasonOf(status, v1.ConditionReady)
	isLeftAlone := m.Spec.Paused || m.Strategy() == v1.OnDeleteStrategy
	isRolledBack := status.FailedRevision == status.UpdateRevision && m.OnFailure() != v1.ContinueOnFailure && a.current != ""
	isReady := meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady)
	isAsWanted := a.isAsWanted()
	switch {
	case a.isBlocked() || a.isUnstarted():
		return "ready beside pods that never go", !isReady || isAsWanted || isLeftAlone
	case desired == 0:
		return "zero is not told", ready == v1.ReasonScaledToZero || isRolledBack || m.Spec.Paused
	case a.notInPlace && !isRolledBack:
		return "an obstacle is not told", ready == v1.ReasonNotInPlace || isLeftAlone || ready == v1.ReasonHalted || !isReady && len(a.badRevisions) > 0 || isAsWanted
	case a.isHaltedByGone():
		return "a halt is not told", reasonOf(status, v1.ConditionStalled) == v1.ReasonHalted || isLeftAlone
	case a.badRevisions[a.update] && (!isRolledBack || isLeftAlone):
		return "stuck with a bad revision", a.isStuckSafely()
	case len(a.badRevisions) > 0:
		// The old revision, which pods keep or return to, is also bad.
		isToStay := isRolledBack || isLeftAlone || m.Partition() > 0 || a.available <= desired-m.MaxUnavailable()
		return "left with bad pods", !isReady && isToStay
	case status.FailedRevision == status.UpdateRevision && m.OnFailure() != v1.ContinueOnFailure && a.current == "":
		return "rolled back to what is lost", ready == v1.ReasonRolledBack && reasonOf(status, v1.ConditionStalled) == v1.ReasonRolledBack
	case isRolledBack && isLeftAlone:
		return "rolled back and left alone", ready == v1.ReasonRolledBack
	case isRolledBack && m.PodUpdatePolicy() == v1.InPlaceOnly && !(a.byRevision[a.current] == desired && a.count == desired):
		return "rolled back as far as possible", a.cannotReturn() && reasonOf(status, v1.ConditionStalled) == v1.ReasonRolledBack
	case isRolledBack:
		return "rolled back", (a.byRevision[a.current] == desired && a.count == desired) && ready == v1.ReasonRolledBack
	case m.Spec.Paused:
		return "paused", isReady == isAsWanted
	case m.PodUpdatePolicy() == v1.InPlaceOnly && a.byRevision[a.update] > a.desiredUpdated() && ready == v1.ReasonNotInPlace:
		return "no way back in place", a.cannotReturn()
	case isLeftAlone && !isAsWanted:
		return "left alone", isReady && ready == v1.ReasonUpdateOnDelete
	}
	isCurrent := status.CurrentRevision == status.UpdateRevision || ready == v1.ReasonPartition
	return "the end", isReady && isCurrent && isAsWanted
}

// isHaltedByGone reports whether failed pods of the new revision are gone and halt it forever, because no pod will replace them.
func (a *finalState) isHaltedByGone() bool {
	isOfUpdate := func(b blame) bool { return b.revision == a.update }
	hasFailed := func(p *corev1.Pod) bool { return nodes.IsFinished(p) && a.hashOf(p) == a.update && a.isBlamed(p) }
	return isHalted(&a.Manager.Status) && a.byRevision[a.update] < a.desiredUpdated() &&
		(slices.ContainsFunc(a.lostBlames, isOfUpdate) || slices.ContainsFunc(a.Pods, hasFailed))
}

// cannotReturn reports whether no pod can be updated in place to the revision that pods return to.
func (a *finalState) cannotReturn() bool {
	to := a.current
	if a.Manager.Status.FailedRevision != a.Manager.Status.UpdateRevision {
		to = cmp.Or(a.newestOld(), a.current)
	}
	for _, p := range a.activePods() {
		hash := a.hashOf(p)
		if hash != to && !a.hidden[p.UID].byHand && a.isStored(hash) && a.hidden[p.UID].refused != to && canUpdateInPlace(a.templateByHash[hash], a.templateByHash[to]) {
			return false
		}
	}
	return true
}

// isStuckSafely reports whether a bad revision has done no more harm than allowed, and the status reports it.
func (a *finalState) isStuckSafely() bool {
	m, status := a.Manager, &a.Manager.Status
	isStalled := reasonOf(status, v1.ConditionStalled) != ""
	switch {
	case m.Spec.Paused || m.Strategy() == v1.OnDeleteStrategy || a.current == a.update: // there is no rollout that could stall
		return meta.IsStatusConditionFalse(status.Conditions, v1.ConditionReady)
	case a.current == "" || m.Strategy() == v1.RecreateStrategy:
		return isStalled
	case m.OnFailure() == v1.RollbackOnFailure:
		return false
	default:
		return isStalled && (a.count-a.byRevision[a.update] >= m.Partition() || reasonOf(status, v1.ConditionReady) == v1.ReasonNotInPlace)
	}
}
