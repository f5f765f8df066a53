package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// HasReturned tells whether all is done that can be about a revision that has failed.
func (r *State) HasReturned() bool {
	return r.Frozen != "" || r.Outdated() == 0 && r.missing() == 0
}

// State is how the pods stand to the revisions, and where they are to go.
type State struct {
	Manager   *v1.PodManager
	Revisions history.Revisions
	Now       time.Time
	// base is the revision that the pods come from, or return to; nil if there is none besides the present one.
	Old *history.Revision
	// updated and based are the active pods of the present revision and of base, strays those of any other.
	UpdatedPods, OldPods, StrayPods []*corev1.Pod
	// wantBase is how many pods are to be of base; the others are to be updated.
	wantOld int
	// frozen is the reason why no pod is moved from one revision to the other; empty if they are.
	Frozen string
	// rolledBack tells that the present revision has failed, and all pods are to return to base.
	RolledBack bool
	// failing are the pods of the present revision that have failed and not recovered; judged is what is remembered of them, and
	// of those that have recovered a moment ago.
	FailingPods []*corev1.Pod
	judged      map[types.UID]Judgement
	// unfilled is how many pods of the present revision have failed for good and not been replaced.
	unreplaced int
	// obstacle is why pods cannot be updated in place although nothing else is allowed.
	Obstacle string
	// compared is what was found out about two revisions, see change.
	compared map[[2]*history.Revision]comparison
}

// Assess looks at active pods, and at those that have finished.
func Assess(manager *v1.PodManager, revisions history.Revisions, active, finished []*corev1.Pod, now time.Time) *State {
	r := &State{Manager: manager, Revisions: revisions, Now: now, compared: map[[2]*history.Revision]comparison{}, judged: map[types.UID]Judgement{}}
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
	r.wantOld = r.decideWantOld()
	return r
}

// countsAs is the revision that an active pod counts for: the present one, or base; nil for a stray.
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

// isRolling tells whether a revision is on its way to become the current one.
func (r *State) isRolling() bool {
	return !r.RolledBack && (r.Revisions.Current == nil || r.Revisions.Current.Name != r.Revisions.Update.Name)
}

// findOld finds where the pods come from: the last good revision, or else the newest that a pod has.
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

// mustReplace tells that the pod has the present revision in name only: its node cannot give it what that asks for.
func (r *State) mustReplace(pod *corev1.Pod) bool {
	return podstate.IsInfeasible(pod) && r.Manager.PodUpdatePolicy() == v1.InPlaceIfPossible
}

// IsHalted tells whether so many pods fail that no further one is to be updated. Where there are no others, there is nothing
// to be gained by that.
func (r *State) IsHalted() bool {
	return (r.Old != nil || len(r.StrayPods) > 0) && len(r.FailingPods) >= r.Manager.MaxFailedPods() && r.Manager.OnFailure() != v1.ContinueOnFailure
}

// findFrozen tells why no pod is moved from one revision to the other, if none is.
func (r *State) findFrozen() string {
	switch {
	case r.Manager.Spec.Paused:
		return v1.ReasonPaused
	case r.RolledBack && r.Old == nil:
		return v1.ReasonRolledBack // what there was to return to is not known any more
	case r.Manager.Strategy() == v1.OnDeleteStrategy:
		return v1.ReasonUpdateOnDelete
	case r.IsHalted() && r.Manager.Strategy() != v1.RecreateStrategy && len(r.OldPods) >= r.Manager.Partition():
		// Recreate has nothing to hold back, and moving back is what helps.
		return v1.ReasonHalted
	case r.Obstacle != "":
		return v1.ReasonNotInPlace
	default:
		return ""
	}
}

// revisionOf is the revision that a pod was made from, or changed to; nil if it is not known.
func (r *State) revisionOf(pod *corev1.Pod) *history.Revision {
	return r.Revisions.WithHash(r.Revisions.HashOf(pod))
}

// decideWantOld decides how many pods are to be of base.
func (r *State) decideWantOld() int {
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
		// Whatever is lost is replaced by the same, as far as the status remembers how it was.
		updated := len(r.UpdatedPods) + r.unreplaced
		if status := &r.Manager.Status; status.UpdateRevision == r.Revisions.Update.Name {
			updated = max(updated, int(status.UpdatedReplicas))
		}
		return max(0, desired-updated)
	default:
		return r.Manager.Partition()
	}
}

// IsUnstarted tells that the first rollout is not to begin yet: there was never a pod.
func (r *State) IsUnstarted() bool {
	status := &r.Manager.Status
	return r.Manager.Spec.Paused && r.Revisions.Current == nil && status.Replicas == 0 && status.Rollout == nil &&
		len(r.UpdatedPods)+len(r.OldPods)+len(r.StrayPods) == 0
}

// DueUpdated is how many pods are to have the present revision once the rollout is done.
func (r *State) DueUpdated() int {
	if r.Old == nil {
		return r.Manager.DesiredReplicas()
	}
	return r.Manager.DesiredReplicas() - r.Manager.Partition()
}

// Outdated is how many active pods are still to be moved to another revision, were there no freeze.
func (r *State) Outdated() int {
	want := r.Manager.DesiredReplicas() - r.DueUpdated()
	if r.RolledBack && r.Old != nil {
		want = r.Manager.DesiredReplicas()
	}
	return len(r.StrayPods) + max(0, len(r.OldPods)-want, want-len(r.OldPods)-r.missing())
}

// missing is how many pods there are too few.
func (r *State) missing() int {
	return max(0, r.Manager.DesiredReplicas()-len(r.UpdatedPods)-len(r.OldPods)-len(r.StrayPods))
}
