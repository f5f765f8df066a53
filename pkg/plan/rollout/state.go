package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
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
	// Old is the old revision, which pods are updated from or rolled back to; nil if there is none besides the new one.
	Old *history.Revision
	// UpdatedPods are the active pods of the new revision, OldPods those of the old one, StrayPods those of any other.
	UpdatedPods, OldPods, StrayPods []*corev1.Pod
	// desiredOld is how many pods of the old revision are desired; all others are to be of the new one.
	desiredOld int
	// Frozen is the reason why no pod moves to another revision; empty if pods may move.
	Frozen string
	// RolledBack tells that the new revision has failed, and all pods return to the old one.
	RolledBack bool
	// FailingPods are the pods of the new revision that have failed and not recovered. judged has the records of these pods, and of
	// pods that have recovered recently.
	FailingPods []*corev1.Pod
	judged      map[types.UID]Judgement
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
	r.compared, r.judged = map[[2]*history.Revision]comparison{}, map[types.UID]Judgement{}
	r.Old = r.findOld(active)
	for _, pod := range active {
		switch r.countsAs(pod) {
		case nil:
			r.StrayPods = append(r.StrayPods, pod)
		case r.Old:
			r.OldPods = append(r.OldPods, pod)
		default:
			r.UpdatedPods = append(r.UpdatedPods, pod)
		}
	}
	r.RolledBack = manager.Status.FailedRevision == revisions.Update.Name && manager.OnFailure() != v1.ContinueOnFailure &&
		(revisions.Current == nil || revisions.Current.Name != revisions.Update.Name)
	if r.isRolling() {
		r.findFailing(finished)
	}
	r.Obstacle = r.findObstacle()
	r.Frozen = r.findFrozen()
	r.desiredOld = r.decideDesiredOld()
	return r
}

// countsAs is the revision that an active pod counts for: the new or the old one; nil for a stray pod.
func (r *State) countsAs(pod *corev1.Pod) *history.Revision {
	switch hash := r.Revisions.HashOf(pod); {
	case hash == r.Revisions.Update.Hash && !r.mustReplace(pod):
		return r.Revisions.Update
	case r.Old != nil && hash == r.Old.Hash:
		return r.Old
	default:
		return nil
	}
}

// isRolling tells whether the new revision is not the current one yet, and was not rolled back.
func (r *State) isRolling() bool {
	return !r.RolledBack && (r.Revisions.Current == nil || r.Revisions.Current.Name != r.Revisions.Update.Name)
}

// findOld finds the old revision: the last good one, or else the newest that a pod has.
func (r *State) findOld(active []*corev1.Pod) *history.Revision {
	if current := r.Revisions.Current; current != nil {
		if current.Name == r.Revisions.Update.Name {
			return nil
		}
		return current
	}
	var newest *history.Revision
	for _, pod := range active {
		revision := r.Revisions.WithHash(r.Revisions.HashOf(pod))
		if revision == nil || revision.Name == r.Revisions.Update.Name || revision.Template() == nil {
			continue
		}
		if newest == nil || revision.Number() > newest.Number() {
			newest = revision
		}
	}
	return newest
}

// mustReplace tells whether the pod has the new revision in name only: the kubelet cannot resize it on this node.
func (r *State) mustReplace(pod *corev1.Pod) bool {
	return podstate.IsInfeasible(pod) && r.Manager.PodUpdatePolicy() == v1.InPlaceIfPossible
}

// IsHalted tells whether so many pods fail that no further pod is to be updated. Without pods or a revision other than the new one, a
// halt would protect nothing.
func (r *State) IsHalted() bool {
	return (r.Old != nil || len(r.StrayPods) > 0) && len(r.FailingPods) >= r.Manager.MaxFailedPods() &&
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
	default:
		return ""
	}
}

// revisionOf is the revision that a pod was created from or updated in place to; nil if it is lost.
func (r *State) revisionOf(pod *corev1.Pod) *history.Revision {
	return r.Revisions.WithHash(r.Revisions.HashOf(pod))
}

// decideDesiredOld decides how many pods of the old revision are desired.
func (r *State) decideDesiredOld() int {
	desired := r.Manager.DesiredReplicas()
	switch {
	case r.Old == nil:
		return 0
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
		return r.Manager.Partition()
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

// DesiredUpdated is how many pods have the new revision once the rollout is complete: all but the partition.
func (r *State) DesiredUpdated() int {
	if r.Old == nil {
		return r.Manager.DesiredReplicas()
	}
	return r.Manager.DesiredReplicas() - r.Manager.Partition()
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
