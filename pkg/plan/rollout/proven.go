package rollout

import (
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
)

// A revision becomes the good one, to which later rollouts return, when all of its pods have been available together for as long as a
// failing pod has to stay ready to recover. Until then the failure policy applies, also after the last pod was updated.

// IsProven tells whether the new revision has proved itself, so that later rollouts may return to it.
func (r *State) IsProven() bool {
	wait, started := r.UntilProven()
	return started && wait == 0
}

// UntilProven is how long all pods, once updated, still have to stay available together; false while that time has not begun.
func (r *State) UntilProven() (time.Duration, bool) {
	if !r.isRolling() || len(r.UpdatedPods) != r.Manager.DesiredReplicas() || r.desiredOld+len(r.OldPods)+len(r.StrayPods) > 0 ||
		(len(r.FailingPods) > 0 && r.Manager.OnFailure() != v1.ContinueOnFailure) {
		return 0, false
	}
	return r.untilPodsProven(r.UpdatedPods, r.jitter())
}

// UntilOldProven is how long the old pods still have to stay available together; false while they are not, or another revision has proved
// itself. Pods that a partition or a halt leaves on the old revision can still prove it.
func (r *State) UntilOldProven() (time.Duration, bool) {
	if r.Old == nil || !r.Old.IsStored() || r.Manager.Status.CurrentRevision != "" || r.RolledBack || len(r.OldPods) < r.desiredOld {
		return 0, false
	}
	return r.untilPodsProven(r.OldPods, 0)
}

// untilPodsProven is how long these pods still have to stay available together, with a delay added; false if one is not available.
func (r *State) untilPodsProven(pods []*corev1.Pod, delay time.Duration) (time.Duration, bool) {
	var since time.Time
	for _, pod := range pods {
		if !health.IsAvailable(pod, r.Manager.MinReady(), r.Now) {
			return 0, false
		}
		if at := health.ServiceSince(pod); at.After(since) {
			since = at
		}
	}
	return max(0, since.Add(r.Manager.MinReady()+r.Manager.FailureGrace()+delay).Sub(r.Now)), len(pods) > 0
}

// jitter delays the first revision, so that many PodManagers created together do not all write their status at the same time. Nobody
// waits for the first revision to prove itself.
func (r *State) jitter() time.Duration {
	if r.Old != nil || r.Manager.Status.CurrentRevision != "" {
		return 0
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(r.Manager.UID)) // never fails, says hash.Hash
	return time.Duration(float64(r.Manager.FailureGrace()) * float64(hash.Sum32()) / (1 << 32))
}

// canRollBack tells whether there is a revision to return to: the last good one, or one with an available pod.
func (r *State) canRollBack() bool {
	isAvailable := func(pod *corev1.Pod) bool { return health.IsAvailable(pod, r.Manager.MinReady(), r.Now) }
	return r.Old != nil && r.Old.IsStored() && (r.Old == r.Revisions.Current || slices.ContainsFunc(r.OldPods, isAvailable))
}
