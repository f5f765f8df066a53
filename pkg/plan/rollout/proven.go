package rollout

import (
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// A revision becomes good, so that later rollouts can return to it, when enough of its pods have been available at the same time for the bake time.
// Until then the failure policy applies, even after the last pod was updated.

// IsProven reports whether the new revision is proven, so that later rollouts may return to it.
func (r *State) IsProven() bool {
	wait, started := r.UntilProven()
	return started && wait == 0
}

// UntilProven returns how long enough pods still have to stay available at the same time, or false if that time has not begun.
func (r *State) UntilProven() (time.Duration, bool) {
	since := r.bakingSince()
	if since == nil {
		return 0, false
	}
	bake := r.Manager.BakeTime() + r.jitter()
	if bake == 0 {
		return 0, true
	}
	return max(0, since.Add(bake).Sub(r.Now)), true
}

// bakingSince returns since when the controller has seen enough pods of the new revision available at the same time, with nothing left to do. It
// returns nil if that is not the case. Timestamps from nodes do not count.
func (r *State) bakingSince() *metav1.Time {
	switch {
	case !r.isCarriedOut(), r.TooManyFail(),
		r.countAvailable(r.UpdatedPods) < r.MinAvailableToProve, r.Desired == 0:
		return nil
	case r.hasRolloutRecord() && r.Manager.Status.Rollout.BakingSince != nil:
		return r.Manager.Status.Rollout.BakingSince
	default:
		return WholeSecond(r.Now)
	}
}

// isCarriedOut reports whether all pods are to have the new revision, and none of them has yet to get it. With OnDelete, an old pod that the user
// has yet to delete does not count.
func (r *State) isCarriedOut() bool {
	isLeft := len(r.OldPods)+len(r.MustMovePods) > 0 && (r.Manager.Strategy() != v1.OnDeleteStrategy || r.Manager.Spec.Paused)
	return r.isRolling() && r.DesiredUpdated() == r.Desired && !isLeft && !slices.ContainsFunc(r.UpdatedPods, inplace.IsUpdating)
}

func (r *State) isAvailable(pod *corev1.Pod) bool {
	return health.IsAvailable(pod, r.Manager.MinReady(), r.Now)
}

func (r *State) countAvailable(pods []*corev1.Pod) (count int) {
	for _, pod := range pods {
		if r.isAvailable(pod) {
			count++
		}
	}
	return count
}

// IsWorthStoring reports whether the new revision is to be stored although there is no other revision: all its pods are available, so that it will
// become the revision to return to.
func (r *State) IsWorthStoring() bool {
	return r.isRolling() && r.Desired > 0 && r.countAvailable(r.UpdatedPods) >= r.Desired
}

// IsOldProven reports whether the old revision becomes the one to return to: there is no such revision yet, because the old one was superseded before
// its bake time was over, enough of its pods are available, and fewer than failureThreshold are failing. Without this rule, no rollback could return
// to a first release.
func (r *State) IsOldProven() bool {
	if !r.mayProveOld() {
		return false
	}
	failing, _ := r.countFailingOld()
	return failing < r.Manager.FailureThreshold()
}

// untilOldProven returns the time until the old revision may become the one to return to without an event, because a pod that has crashed has run for
// long enough since. Zero means never.
func (r *State) untilOldProven() time.Duration {
	if !r.mayProveOld() {
		return 0
	}
	_, wait := r.countFailingOld()
	return wait
}

// mayProveOld reports whether there is no revision to return to, and enough pods of the old one are available.
func (r *State) mayProveOld() bool {
	return r.Old != nil && r.Revisions.Current == nil && !r.RolledBack && r.countAvailable(r.podsOfOld()) >= r.MinAvailableToProve
}

func (r *State) podsOfOld() []*corev1.Pod {
	isOther := func(pod *corev1.Pod) bool { return r.revisionOf(pod) != r.Old }
	return slices.DeleteFunc(slices.Clone(r.OldPods), isOther)
}

// countFailingOld counts the failing pods of the old revision, and returns the time until the first of them may have recovered; zero means never. The
// status has records of them only until it is written for the new revision. After that, the containers show which pods have crashed and not run for
// long enough since: a pod in a crash loop may be ready at any moment.
func (r *State) countFailingOld() (count int, wait time.Duration) {
	failing := map[types.UID]bool{}
	for _, pod := range r.podsOfOld() {
		window := r.crashWindowRemaining(pod, r.recoveryTime())
		if window > 0 || hasOwnTrouble(pod) {
			failing[pod.UID] = true
		}
		wait = requeue.Sooner(wait, window)
	}
	if recorded := r.Manager.Status.Rollout; recorded != nil && recorded.Revision == r.Old.Name && !r.hasOtherPolicy() {
		for _, record := range recorded.Failing {
			if !record.Recovered && (record.ReadySince == nil || r.untilRecovered(record) > 0) {
				failing[record.UID] = true
			}
		}
	}
	return len(failing), wait
}

// jitter delays when the first revision becomes good, so that many PodManagers that are created together do not write their status at the same time.
// Nothing waits for the first revision to become good.
func (r *State) jitter() time.Duration {
	if r.Old != nil || r.Manager.Status.CurrentRevision != "" {
		return 0
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(r.Manager.UID)) // hash.Hash never returns an error
	return time.Duration(float64(r.Manager.BakeTime()) * float64(hash.Sum32()) / (1 << 32))
}

// mayRollBack reports whether the user wants rollbacks, and there is a revision to return to.
func (r *State) mayRollBack() bool {
	return r.Manager.OnFailure() == v1.RollbackOnFailure && !r.Manager.Spec.Paused && r.Manager.Strategy() != v1.OnDeleteStrategy &&
		r.Revisions.Current != nil && r.Revisions.Current.IsStored()
}
