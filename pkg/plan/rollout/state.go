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

// State says which revision each active pod has, how many pods of each revision are desired, and what stops the rollout.
type State struct {
	Manager   *v1.PodManager
	Revisions history.Revisions
	Means     inplace.Means
	Now       time.Time
	// Old is the revision that missing pods of the old side are made from, and that pods move back to; nil if there is none.
	Old *history.Revision
	// UpdatedPods are the active pods of the new revision, OldPods those of the old side, StrayPods those that fit neither.
	UpdatedPods, OldPods, StrayPods []*corev1.Pod
	// desiredOld is how many pods of the old side are desired; all others are to be of the new revision.
	desiredOld int
	// Frozen is the reason why no pod moves to another revision; empty if pods may move.
	Frozen string
	// RolledBack tells that the new revision has failed, and all pods return to the old one.
	RolledBack bool
	// FailingPods are the pods of the new revision that have failed and not recovered. judged has the records of these pods, and of
	// pods that have recovered recently.
	FailingPods []*corev1.Pod
	judged      map[types.UID]Judgement
	// GonePods are the names of pods that had failed, are gone, and have no replacement. records are the records of all others.
	GonePods []string
	records  map[types.UID]v1.FailingPod
	// Unrecorded are the finished pods that count against the new revision, and stay until the status has a record of them.
	Unrecorded []health.Retry
	// unreplaced is how many finished pods of the new revision have not been replaced.
	unreplaced int
	// Obstacle is why pods cannot be updated in place although podUpdatePolicy is InPlaceOnly.
	Obstacle string
	// compared caches the results of compare.
	compared map[[2]*history.Revision]comparison
}

// Assess sorts the active pods by revision, judges the failing pods, and finds what stops the rollout.
func Assess(manager *v1.PodManager, revisions history.Revisions, means inplace.Means, active, finished []*corev1.Pod, now time.Time) *State {
	r := &State{Manager: manager, Revisions: revisions, Means: means, Now: now}
	r.compared, r.judged, r.records = map[[2]*history.Revision]comparison{}, map[types.UID]Judgement{}, map[types.UID]v1.FailingPod{}
	r.RolledBack = r.wasRolledBack()
	r.Old = r.findOld(active)
	for _, pod := range active {
		switch r.sideOf(pod) {
		case newSide:
			r.UpdatedPods = append(r.UpdatedPods, pod)
		case oldSide:
			r.OldPods = append(r.OldPods, pod)
		default:
			r.StrayPods = append(r.StrayPods, pod)
		}
	}
	if r.isRolling() {
		r.findFailing(finished)
	}
	r.Obstacle = r.findObstacle()
	r.Frozen = r.findFrozen()
	r.desiredOld = r.decideDesiredOld()
	return r
}

// side is where an active pod belongs.
type side int

const (
	// newSide: the pod has the new revision.
	newSide side = iota
	// oldSide: the pod has another revision, whichever. A partition, a pause and a halt leave it as it is.
	oldSide
	// neither: the pod has to move whatever the partition says, because it has its revision in name only, or is neither of the revision
	// that has failed nor of the one to return to.
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

// revisionAt is the revision that pods get which are made for a side, or move there.
func (r *State) revisionAt(s side) *history.Revision {
	if s == oldSide {
		return r.Old
	}
	return r.Revisions.Update
}

// wasRolledBack reports whether the new revision has failed and was rolled back. The status says so; where the status is lost, the mark of the
// revision does.
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

// findOld finds the revision that pods of the old side are made from: what runs there, the newest that has not failed. If no such pod is
// left to go by, and in a rollback, it is the current one. No pod returns from a revision that is good.
func (r *State) findOld(active []*corev1.Pod) *history.Revision {
	switch {
	case r.isGood():
		return nil
	case r.RolledBack:
		return r.Revisions.Current
	}
	var newest *history.Revision
	for _, pod := range active {
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

// mustReplace tells whether the pod has the new revision in name only: the kubelet cannot resize it on this node.
func (r *State) mustReplace(pod *corev1.Pod) bool {
	return podstate.IsInfeasible(pod) && r.Manager.PodUpdatePolicy() == v1.InPlaceIfPossible
}

// IsHalted reports whether so many pods have failed that no further pod is to be updated. Without pods or a revision other than the new one, a
// halt would protect nothing; where no pod is to be updated, there is nothing to halt.
func (r *State) IsHalted() bool {
	return len(r.UpdatedPods)+r.DesiredUpdated() > 0 && (r.Old != nil || len(r.OldPods)+len(r.StrayPods) > 0) && r.failing() >= r.Manager.FailureThreshold() &&
		r.Manager.OnFailure() != v1.ContinueOnFailure
}

// findFrozen is the reason why no pod moves to another revision; empty if pods may move.
func (r *State) findFrozen() string {
	switch {
	case r.Manager.Spec.Paused:
		return v1.ReasonPaused
	case r.RolledBack && r.Old == nil:
		return v1.ReasonRolledBack // the revision to return to is lost
	case r.Manager.Strategy() == v1.OnDeleteStrategy:
		return v1.ReasonUpdateOnDelete
	case r.IsHalted() && r.Manager.Strategy() != v1.RecreateStrategy && len(r.OldPods) >= r.Manager.Partition():
		// Recreate leaves no old pods to protect. With fewer old pods than the partition, pods move back to the old revision, which helps.
		return v1.ReasonHalted
	case r.Obstacle != "":
		return v1.ReasonNotInPlace
	case r.IsOldProven():
		return v1.ReasonRollingOut // the status names what to return to before the first pod leaves it
	default:
		return ""
	}
}

// revisionOf is the revision that a pod was created from or updated in place to; nil if it is lost.
func (r *State) revisionOf(pod *corev1.Pod) *history.Revision {
	return r.Revisions.WithHash(r.Revisions.HashOf(pod))
}

// decideDesiredOld decides how many pods of the old side are desired: no more than there are if none can be made.
func (r *State) decideDesiredOld() int {
	if r.Old == nil {
		return min(r.wantedOld(), len(r.OldPods))
	}
	return r.wantedOld()
}

// wantedOld is how many pods of the old side the strategy and what stops the rollout ask for.
func (r *State) wantedOld() int {
	desired := r.Manager.DesiredReplicas()
	switch {
	case r.RolledBack:
		return desired
	case r.Manager.Strategy() == v1.OnDeleteStrategy && !r.Manager.Spec.Paused:
		return 0
	case r.Frozen != "" && r.Manager.Strategy() == v1.RecreateStrategy:
		// Revisions must not overlap.
		if len(r.UpdatedPods) > 0 {
			return 0
		}
		return desired
	case r.Frozen != "":
		// A lost pod is replaced by one of the same revision, as far as the status tells how many were updated.
		updated := len(r.UpdatedPods) + r.unreplaced
		if status := &r.Manager.Status; status.UpdateRevision == r.Revisions.Update.Name {
			updated = max(updated, int(status.UpdatedReplicas))
		}
		return max(0, desired-updated)
	default:
		return r.Manager.DesiredReplicas() - r.DesiredUpdated()
	}
}

// IsUnstarted tells whether the PodManager was paused before it had all its pods, and has created none of those that it has. It creates
// none then, so that pods can be handed over to it one after the other: it does not take those to come for missing.
func (r *State) IsUnstarted() bool {
	status := &r.Manager.Status
	if !r.Manager.Spec.Paused || r.Revisions.Current != nil || status.Rollout != nil {
		return false
	}
	active := slices.Concat(r.UpdatedPods, r.OldPods, r.StrayPods)
	if len(active) == 0 {
		return status.Replicas == 0
	}
	isOwn := func(pod *corev1.Pod) bool { return !podstate.IsMadeByHand(pod) }
	return len(active) < r.Manager.DesiredReplicas() && !slices.ContainsFunc(active, isOwn)
}

// DesiredUpdated is how many pods have the new revision once the rollout is complete: all but the partition. A partition holds back a
// revision that has yet to prove itself: a good one, to which the user may have returned, all pods get.
func (r *State) DesiredUpdated() int {
	partition := r.Manager.Partition()
	switch {
	case r.isGood():
		partition = 0
	case r.Old == nil:
		partition = min(partition, len(r.OldPods))
	}
	return r.Manager.DesiredReplicas() - partition
}

// Outdated is how many active pods have yet to move to another revision, whether or not the rollout is frozen.
func (r *State) Outdated() int {
	dueOld := r.Manager.DesiredReplicas() - r.DesiredUpdated()
	if r.RolledBack && r.Old != nil {
		dueOld = r.Manager.DesiredReplicas()
	}
	return len(r.StrayPods) + max(0, len(r.OldPods)-dueOld, dueOld-len(r.OldPods)-r.missing())
}

// missing is how many active pods there are fewer than desired.
func (r *State) missing() int {
	return max(0, r.Manager.DesiredReplicas()-len(r.UpdatedPods)-len(r.OldPods)-len(r.StrayPods))
}

// HasReturned tells whether the rollback has finished, or cannot go on.
func (r *State) HasReturned() bool {
	return r.Frozen != "" || r.Outdated() == 0 && r.missing() == 0
}
