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
	for _, check := range []func() (string, bool){a.checkZero, a.checkPaused, a.checkCount, a.checkRevisions, a.checkFailedLeft} {
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
	return "pods are left, although zero replicas are desired", a.Manager.DesiredReplicas() > 0 || a.count == 0 || isHeldUp
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
		return "paused before it started, and Ready does not say so", ready == v1.ReasonPaused || ready == v1.ReasonScaledToZero
	case a.Manager.Strategy() == v1.RecreateStrategy: // Recreate may not add pods of another revision
		return "paused with Recreate, and there are too many pods", a.count <= desired
	case a.isMarkedWithoutReplacement(), desired >= a.paused.wanted && len(a.byRevision) > 1:
		return "paused, and there are too few or too many pods", a.count >= desired && a.count <= desired+a.Manager.MaxSurge()
	default:
		return "paused, and there are too few or too many pods", a.count == desired
	}
}

// isMarkedWithoutReplacement reports whether a pod that is marked for deletion stays forever: with maxUnavailable 0, its replacement has to be
// available first, but never will be.
func (a *finalState) isMarkedWithoutReplacement() bool {
	return len(a.badRevisions) > 0 && a.Manager.MaxUnavailable() == 0 && slices.ContainsFunc(a.activePods(), isMarkedForDeletion)
}

// checkCount checks that there are as many active pods as desired. With a bad revision, or in a halt, there may also be surge pods.
func (a *finalState) checkCount() (string, bool) {
	m := a.Manager
	desired, most := m.DesiredReplicas(), a.mostPods()
	switch {
	case m.Spec.Paused:
		return "", true
	case a.stuck > 0 && m.Spec.PodReplacementPolicy == v1.TerminationComplete:
		return "too few or too many pods beside those that stay terminating", a.count >= desired-a.stuck-m.MaxUnavailable() && (a.count <= most || m.PacesScaleDown())
	case a.stuck > 0 && m.Strategy() == v1.RecreateStrategy && a.count < desired:
		return "", true
	case a.stuck > 0 && m.PacesScaleDown():
		return "too few pods beside those that stay terminating", a.count >= desired-m.MaxUnavailable()
	default:
		return "too few or too many pods", a.count >= desired && a.count <= most
	}
}

// mostPods returns how many active pods there may be.
func (a *finalState) mostPods() int {
	desired := a.Manager.DesiredReplicas()
	switch {
	case len(a.badRevisions) == 0 && !a.notInPlace && !a.isHaltedByGone():
		return desired
	case a.available <= desired-a.Manager.MaxUnavailable():
		return a.count // no pod may be deleted
	default:
		return desired + a.Manager.MaxSurge()
	}
}

// checkRevisions checks that the pods have the desired revisions, and that the status says so. The first check that applies decides.
func (a *finalState) checkRevisions() (string, bool) {
	for _, check := range []func() (what string, ok, applies bool){a.checkHeldUp, a.checkBad, a.checkRolledBack, a.checkLeft} {
		if what, ok, applies := check(); applies {
			return what, ok
		}
	}
	status := &a.Manager.Status
	isCurrent := status.CurrentRevision == status.UpdateRevision || a.ready() == v1.ReasonPartition
	return "the rollout is not complete", a.isReady() && isCurrent && a.isAsWanted()
}

func (a *finalState) ready() string   { return reasonOf(&a.Manager.Status, v1.ConditionReady) }
func (a *finalState) stalled() string { return reasonOf(&a.Manager.Status, v1.ConditionStalled) }

func (a *finalState) isReady() bool {
	return meta.IsStatusConditionTrue(a.Manager.Status.Conditions, v1.ConditionReady)
}

// isLeftAlone reports whether the user wants no pod to move.
func (a *finalState) isLeftAlone() bool {
	return a.Manager.Spec.Paused || a.Manager.Strategy() == v1.OnDeleteStrategy
}

// hasFailed reports whether the status says that the new revision has failed. isRolledBack reports whether there also is a revision to return to.
func (a *finalState) hasFailed() bool {
	return a.Manager.Status.FailedRevision == a.Manager.Status.UpdateRevision && a.Manager.OnFailure() != v1.ContinueOnFailure
}

func (a *finalState) isRolledBack() bool { return a.hasFailed() && a.current != "" }

// checkHeldUp applies if something keeps the rollout from starting or going on.
func (a *finalState) checkHeldUp() (what string, ok, applies bool) {
	switch {
	case a.isBlocked() || a.isUnstarted():
		return "Ready, although pods that stay terminating or an early pause block the rollout", !a.isReady() || a.isAsWanted() || a.isLeftAlone(), true
	case a.Manager.DesiredReplicas() == 0:
		return "the status does not report zero replicas", a.ready() == v1.ReasonScaledToZero || a.isRolledBack() || a.Manager.Spec.Paused, true
	case a.notInPlace && !a.isRolledBack():
		return "the status does not report why pods cannot be updated in place", a.isObstacleTold() || a.isLeftAlone() || a.isAsWanted(), true
	case a.isHaltedByGone():
		return "the status does not report the halt", a.stalled() == v1.ReasonHalted || a.isLeftAlone(), true
	}
	return "", false, false
}

// isObstacleTold reports whether the status says why pods cannot be updated in place, or what else is wrong.
func (a *finalState) isObstacleTold() bool {
	return a.ready() == v1.ReasonNotInPlace || a.ready() == v1.ReasonHalted || !a.isReady() && len(a.badRevisions) > 0
}

// checkBad applies if pods will never be available.
func (a *finalState) checkBad() (what string, ok, applies bool) {
	switch {
	case a.badRevisions[a.update] && (!a.isRolledBack() || a.isLeftAlone()):
		return "a bad revision has done more harm than allowed, or is not reported", a.isStuckSafely(), true
	case len(a.badRevisions) > 0:
		// The old revision, which pods keep or return to, is also bad.
		isToStay := a.isRolledBack() || a.isLeftAlone() || a.Manager.Partition() > 0 || a.available <= a.Manager.DesiredReplicas()-a.Manager.MaxUnavailable()
		return "Ready with bad pods, or bad pods are left without a reason", !a.isReady() && isToStay, true
	}
	return "", false, false
}

// checkRolledBack applies if the new revision has failed.
func (a *finalState) checkRolledBack() (what string, ok, applies bool) {
	desired := a.Manager.DesiredReplicas()
	hasReturned := a.byRevision[a.current] == desired && a.count == desired
	isTold := a.ready() == v1.ReasonRolledBack
	switch {
	case a.hasFailed() && a.current == "":
		return "the status does not report that the revision to return to is lost", isTold && a.stalled() == v1.ReasonRolledBack, true
	case !a.isRolledBack():
		return "", false, false
	case a.isLeftAlone():
		return "the status does not report the rollback", isTold, true
	case a.Manager.PodUpdatePolicy() == v1.InPlaceOnly && !hasReturned:
		return "the rollback stops although pods can return, or is not Stalled", a.cannotReturn() && a.stalled() == v1.ReasonRolledBack, true
	default:
		return "the rollback is not complete, or the status does not report it", hasReturned && isTold, true
	}
}

// checkLeft applies if pods stay as they are because the user wants that, or because they cannot be updated in place.
func (a *finalState) checkLeft() (what string, ok, applies bool) {
	m := a.Manager
	switch {
	case m.Spec.Paused:
		return "paused, and Ready does not match the pods", a.isReady() == a.isAsWanted(), true
	case m.PodUpdatePolicy() == v1.InPlaceOnly && a.byRevision[a.update] > a.desiredUpdated() && a.ready() == v1.ReasonNotInPlace:
		return "pods do not return, although they can be updated in place", a.cannotReturn(), true
	case a.isLeftAlone() && !a.isAsWanted():
		return "Ready does not report the pods that are left alone", a.isReady() && a.ready() == v1.ReasonUpdateOnDelete, true
	}
	return "", false, false
}

// isHaltedByGone reports whether failed pods of the new revision are gone and halt the rollout forever, because no pod will replace them.
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
