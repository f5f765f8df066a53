package rollout

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// State describes which revision each active pod has, how many pods of each revision are desired, and what stops the rollout.
type State struct {
	Manager *v1.PodManager
	Budget
	Revisions    history.Revisions
	Capabilities inplace.Capabilities
	Now          time.Time
	// pods are the active pods, and leaving are pods that still run, but no longer count.
	pods, leaving []*corev1.Pod
	// Old is the revision that missing pods of the old side are created from, and that pods move back to. It is nil if there is none.
	Old *history.Revision
	// UpdatedPods are the active pods of the new revision, OldPods the active pods of the old side, and MustMovePods the active pods that belong to
	// neither.
	UpdatedPods, OldPods, MustMovePods []*corev1.Pod
	// desiredOld is the desired number of pods of the old side. All other pods should have the new revision.
	desiredOld int
	// Frozen is the reason why no pod moves to another revision. It is empty if pods may move.
	Frozen string
	// RolledBack is set if the new revision has failed, and all pods return to the old one.
	RolledBack bool
	// FailingPods are the pods of the new revision that have failed and not recovered. failures has the records of these pods, and of pods that have
	// recovered recently.
	FailingPods []*corev1.Pod
	failures    map[types.UID]FailureRecord
	// Gone are the records of failed pods that are gone, or leave a lost node, and whose records no other pod has inherited. records has the records of
	// all other pods.
	Gone    []v1.FailingPod
	records map[types.UID]v1.FailingPod
	// Unrecorded are the finished pods that count against the new revision and stay until the status has a record of them.
	Unrecorded []health.Retry
	// unreplaced is how many finished pods of the new revision have not been replaced.
	unreplaced int
	// Obstacle is why pods cannot be updated in place although podUpdatePolicy is InPlaceOnly.
	Obstacle string
	// LeaveFirst are active pods that are about to leave. They are the next to be replaced.
	LeaveFirst map[*corev1.Pod]bool
	// serving caches the result of countServing, and compared the results of compare.
	serving  *int
	compared map[[2]*history.Revision]comparison
}

// Assess sorts the active pods by revision, assesses the failing pods, and finds what stops the rollout. Pods that are leaving do not count, but their
// replacements may be created from their revision.
func Assess(
	manager *v1.PodManager, revisions history.Revisions, capabilities inplace.Capabilities, active, finished []*corev1.Pod, now time.Time, leaving ...*corev1.Pod,
) *State {
	r := &State{Manager: manager, Budget: BudgetOf(manager), Revisions: revisions, Capabilities: capabilities, Now: now, pods: active, leaving: leaving}
	r.compared, r.failures, r.records = map[[2]*history.Revision]comparison{}, map[types.UID]FailureRecord{}, map[types.UID]v1.FailingPod{}
	r.RolledBack = r.wasRolledBack()
	r.divide()
	if r.isRolling() && !r.IsUnstarted() {
		r.findFailing(finished)
	}
	r.findStops()
	return r
}

// rollBack returns the state of the rollback that begins if the new revision fails now.
func (r *State) rollBack() *State {
	back := &State{Manager: r.Manager, Budget: r.Budget, Revisions: r.Revisions, Capabilities: r.Capabilities, Now: r.Now, compared: r.compared}
	back.pods, back.leaving, back.RolledBack = r.pods, r.leaving, true
	back.divide()
	back.findStops()
	return back
}

// divide divides the active pods by side.
func (r *State) divide() {
	r.Old = r.findOld()
	for _, pod := range r.pods {
		switch r.sideOf(pod) {
		case newSide:
			r.UpdatedPods = append(r.UpdatedPods, pod)
		case oldSide:
			r.OldPods = append(r.OldPods, pod)
		default:
			r.MustMovePods = append(r.MustMovePods, pod)
		}
	}
}

// leavingFrom returns the leaving pods of a side. They do not count as pods of that side, but their failures and annotations still say something
// about its revision.
func (r *State) leavingFrom(s side) (pods []*corev1.Pod) {
	for _, pod := range r.leaving {
		if r.sideOf(pod) == s {
			pods = append(pods, pod)
		}
	}
	return pods
}

// findStops finds what stops the rollout, and how many pods stay on the old side because of it.
func (r *State) findStops() {
	r.Obstacle = r.findObstacle()
	r.Frozen = r.findFrozen()
	r.desiredOld = r.decideDesiredOld()
}

// IsAtRest reports whether there is no rollout, halt or pause: all pods have the revision that they should have, and the new revision has proved
// itself, unless a partition holds it back, or it was rolled back.
func (r *State) IsAtRest() bool {
	isBaking := r.isRolling() && r.DesiredUpdated() == r.Manager.DesiredReplicas()
	return (r.Frozen == "" || r.Frozen == v1.ReasonUpdateOnDelete) && !r.IsHalted() && r.Outdated() == 0 && len(r.FailingPods) == 0 &&
		!isBaking
}

// WouldChangeRevision reports whether the replacement of a pod of the old side would have another revision if the pod were deleted first: pods of a
// newer old revision run, or no pod of its revision is left, and it is not the current one. A revision that has failed or is lost is not kept.
func (r *State) WouldChangeRevision(pod *corev1.Pod) bool {
	revision := r.revisionOf(pod)
	if !slices.Contains(r.OldPods, pod) || revision == nil || revision.HasFailed() || revision.Template() == nil || r.Old == nil {
		return false
	}
	isAnother := func(other *corev1.Pod) bool { return other != pod && r.Revisions.HashOf(other) == revision.Hash }
	isCurrent := r.Revisions.Current != nil && r.Revisions.Current.Hash == revision.Hash
	return revision.Hash != r.Old.Hash || !isCurrent && !slices.ContainsFunc(r.OldPods, isAnother)
}

// WhySuperseded returns the reason to delete a leaving pod whose revision no pod is to have any more. It returns empty if the rollout is not
// complete, or if the pod may keep its revision.
func (r *State) WhySuperseded(pod *corev1.Pod) Why {
	if r.Frozen != "" || r.Outdated() > 0 || len(r.UpdatedPods)+len(r.OldPods)+len(r.MustMovePods) != r.Manager.DesiredReplicas() {
		return ""
	}
	switch side := r.sideOf(pod); {
	case r.RolledBack && (side == newSide || side == neither):
		return WhyRolledBack
	case side == neither, side == oldSide && r.desiredOld == 0:
		return WhyOutdated
	default:
		return ""
	}
}

// side is the side of a rollout that an active pod belongs to.
type side int

const (
	// newSide: the pod has the new revision.
	newSide side = iota
	// oldSide: the pod has any other revision. A partition, a pause and a halt leave it as it is.
	oldSide
	// neither: the pod has to move regardless of the partition. Either it has its revision in name only, or it has neither the failed revision nor
	// the one to return to.
	neither
)

func (r *State) sideOf(pod *corev1.Pod) side {
	switch hash := r.Revisions.HashOf(pod); {
	case hash == r.Revisions.Update.Hash && !r.mustReplace(pod):
		return newSide
	case hash == r.Revisions.Update.Hash, r.RolledBack && (r.Old == nil || hash != r.Old.Hash):
		return neither
	default:
		return oldSide
	}
}

// revisionAt returns the revision of pods that are created for a side, or move to it.
func (r *State) revisionAt(s side) *history.Revision {
	if s == oldSide {
		return r.Old
	}
	return r.Revisions.Update
}

// RevisionToReplace returns the revision for the replacement of a leaving pod. revision is the one that pods are created from on the replacement's
// side of the rollout. A partition, a pause and a halt leave the revisions of pods as they are. So on the old side, the replacement gets the revision
// of the leaving pod, unless that revision has failed or is lost.
func (r *State) RevisionToReplace(pod *corev1.Pod, revision *history.Revision) *history.Revision {
	own, isOldSide := r.revisionOf(pod), revision == r.Old || r.Old == nil && r.Manager.Spec.Paused
	if !isOldSide || r.sideOf(pod) != oldSide || own == nil || own.HasFailed() || own.Template() == nil {
		return revision
	}
	return own
}

// wasRolledBack reports whether the new revision has failed and was rolled back. The status records that. If the status is lost, the mark of the
// revision decides.
func (r *State) wasRolledBack() bool {
	if r.isGood() || r.Manager.OnFailure() == v1.ContinueOnFailure {
		return false
	}
	return r.Manager.Status.FailedRevision == r.Revisions.Update.Name || r.mayRollBack() && r.Revisions.IsMarkedFailed()
}

// isGood reports whether the new revision is the current one.
func (r *State) isGood() bool {
	return r.Revisions.Current != nil && r.Revisions.Current.Name == r.Revisions.Update.Name
}

// isRolling reports whether the new revision is not the current one yet, and was not rolled back.
func (r *State) isRolling() bool { return !r.RolledBack && !r.isGood() }

// findOld finds the revision that pods of the old side are created from: the newest revision that runs there and has not failed. In a rollback, or
// if no such pod is left, it is the current revision. It is nil if the new revision is good, because no pod returns from it.
func (r *State) findOld() *history.Revision {
	switch {
	case r.isGood():
		return nil
	case r.RolledBack:
		return r.Revisions.Current
	}
	var newest *history.Revision
	for _, pod := range slices.Concat(r.pods, r.leaving) {
		revision := r.revisionOf(pod)
		if revision == nil || revision == r.Revisions.Update || revision.HasFailed() || revision.Template() == nil {
			continue
		}
		if newest == nil || revision.Number() > newest.Number() {
			newest = revision
		}
	}
	return cmp.Or(newest, r.Revisions.Current)
}

// mustReplace reports whether the pod has the new revision in name only: the kubelet cannot resize it on this node.
func (r *State) mustReplace(pod *corev1.Pod) bool {
	return podstate.IsInfeasible(pod) && r.Manager.PodUpdatePolicy() == v1.InPlaceIfPossible
}

// IsHalted reports whether so many pods have failed that no further pod is updated. Without pods or a revision other than the new one, a halt would
// protect nothing. If no pod is to be updated, there is nothing to halt.
func (r *State) IsHalted() bool {
	return len(r.UpdatedPods)+r.DesiredUpdated() > 0 && (r.Old != nil || len(r.OldPods)+len(r.MustMovePods) > 0) && r.TooManyFail()
}

// TooManyFail reports whether so many pods of the new revision have failed and not recovered that the failure policy applies.
func (r *State) TooManyFail() bool {
	return r.failing() >= r.Manager.FailureThreshold() && r.Manager.OnFailure() != v1.ContinueOnFailure
}

// findFrozen returns the reason why no pod moves to another revision, or empty if pods may move.
func (r *State) findFrozen() string {
	switch {
	case r.Manager.Spec.Paused:
		return v1.ReasonPaused
	case r.RolledBack && r.Old == nil:
		return v1.ReasonRolledBack // the revision to return to is lost
	case r.Manager.Strategy() == v1.OnDeleteStrategy:
		return v1.ReasonUpdateOnDelete
	case r.IsHalted() && r.Manager.Strategy() != v1.RecreateStrategy && len(r.OldPods) >= r.Manager.Partition():
		// Recreate leaves no old pods to protect. With fewer old pods than the partition, pods move back to the old revision, which a halt must not
		// prevent.
		return v1.ReasonHalted
	case r.Obstacle != "":
		return v1.ReasonNotInPlace
	case r.IsOldProven():
		return v1.ReasonRollingOut // the status names the revision to return to before the first pod leaves it
	default:
		return ""
	}
}

// revisionOf returns the revision that a pod was created from or updated in place to, or nil if it is lost.
func (r *State) revisionOf(pod *corev1.Pod) *history.Revision {
	return r.Revisions.WithHash(r.Revisions.HashOf(pod))
}

// decideDesiredOld returns the desired number of pods of the old side.
func (r *State) decideDesiredOld() int { return min(r.wantedOld(), r.possibleOld()) }

// possibleOld returns how many pods the old side can have. If no pod can be created for it, these are the existing ones, except those that a user has
// marked for deletion.
func (r *State) possibleOld() int {
	if r.Old != nil {
		return r.Desired
	}
	marked := 0
	for _, pod := range r.OldPods {
		if podstate.IsMarked(pod) {
			marked++
		}
	}
	return len(r.OldPods) - marked
}

// wantedOld returns the number of pods of the old side that follows from the strategy and from what stops the rollout.
func (r *State) wantedOld() int {
	switch {
	case r.RolledBack:
		return r.Desired
	case r.Manager.Strategy() == v1.OnDeleteStrategy && !r.Manager.Spec.Paused:
		return 0
	case r.Frozen != "" && r.Manager.Strategy() == v1.RecreateStrategy:
		// With Recreate, pods of different revisions must not run at the same time.
		if len(r.UpdatedPods) > 0 {
			return 0
		}
		return r.Desired
	case r.Frozen != "":
		// A missing pod is replaced by a pod of the same revision, so the missing pods of the new revision count as updated. A leaving pod is missing
		// only if it has no replacement yet. Leaving pods of other revisions count as missing first. The status may show that more pods were updated.
		leaving := len(r.leavingFrom(newSide))
		updated := len(r.UpdatedPods) + r.unreplaced
		updated += max(0, min(leaving, r.missing()-r.unreplaced-(len(r.leaving)-leaving)))
		if status := &r.Manager.Status; status.UpdateRevision == r.Revisions.Update.Name {
			updated = max(updated, int(status.UpdatedReplicas))
		}
		return max(0, r.Desired-updated)
	default:
		return r.Desired - r.DesiredUpdated()
	}
}

// IsUnstarted reports whether the PodManager was paused before it had all its pods, and has created none of its pods. In that state it creates no
// pods, so that a user can hand over pods to it one by one. Pods that have not been handed over yet do not count as missing. If no pod is left,
// status.replicas shows whether the PodManager had all its pods.
func (r *State) IsUnstarted() bool {
	status := &r.Manager.Status
	if !r.Manager.Spec.Paused || r.Revisions.Current != nil || status.Rollout != nil {
		return false
	}
	pods := slices.Concat(r.pods, r.leaving)
	count := len(pods)
	if count == 0 {
		count = int(status.Replicas)
	}
	isOwn := func(pod *corev1.Pod) bool { return !podstate.IsUnmanaged(pod) }
	return count < max(1, r.Desired) && !slices.ContainsFunc(pods, isOwn)
}

// DesiredUpdated returns how many pods have the new revision once the rollout is complete: all except the partition. A partition holds back only a
// revision that is not proven yet. A good revision, to which the user may have returned, is for all pods.
func (r *State) DesiredUpdated() int {
	partition := r.Manager.Partition()
	if r.isGood() {
		partition = 0
	}
	return r.Desired - min(partition, r.possibleOld())
}

// Outdated returns how many active pods have yet to move to another revision, whether or not the rollout is frozen.
func (r *State) Outdated() int {
	dueOld := r.Desired - r.DesiredUpdated()
	if r.RolledBack && r.Old != nil {
		dueOld = r.Desired
	}
	return len(r.MustMovePods) + max(0, len(r.OldPods)-dueOld, dueOld-len(r.OldPods)-r.missing())
}

// missing returns how many active pods are missing.
func (r *State) missing() int {
	return max(0, r.Desired-len(r.pods))
}

// HasReturned reports whether the rollback is complete or cannot continue.
func (r *State) HasReturned() bool {
	return r.Frozen != "" || r.Outdated() == 0 && r.missing() == 0
}
