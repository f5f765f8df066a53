package rollout

import (
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
)

// A revision proves itself by time: it becomes the one to return to when all of its pods have been available together for as
// long as a failing pod has to recover. Until then the failure policy judges it, also after the last wave.

// IsGood tells whether the present revision has proved itself, so that others may return to it.
func (r *State) IsGood() bool {
	wait, underway := r.UntilGood()
	return underway && wait == 0
}

// UntilGood is how long the pods still have to stay available together. It is false while that has not begun.
func (r *State) UntilGood() (time.Duration, bool) {
	if !r.isRolling() || len(r.UpdatedPods) != r.Manager.DesiredReplicas() || r.wantOld+len(r.OldPods)+len(r.StrayPods) > 0 ||
		(len(r.FailingPods) > 0 && r.Manager.OnFailure() != v1.ContinueOnFailure) {
		return 0, false
	}
	return r.untilProven(r.UpdatedPods, r.spread())
}

// UntilOldGood is the same for base, where no revision has proved itself yet: pods that a partition, or a halt, leaves as they
// are go on to.
func (r *State) UntilOldGood() (time.Duration, bool) {
	if r.Old == nil || !r.Old.IsStored() || r.Manager.Status.CurrentRevision != "" || r.RolledBack || len(r.OldPods) < r.wantOld {
		return 0, false
	}
	return r.untilProven(r.OldPods, 0)
}

// untilProven is how long these pods still have to stay available together, and some more.
func (r *State) untilProven(pods []*corev1.Pod, more time.Duration) (time.Duration, bool) {
	var since time.Time
	for _, pod := range pods {
		if !health.IsAvailable(pod, r.Manager.MinReady(), r.Now) {
			return 0, false
		}
		if at := health.ServiceSince(pod); at.After(since) {
			since = at
		}
	}
	return max(0, since.Add(r.Manager.MinReady()+r.Manager.FailureGrace()+more).Sub(r.Now)), len(pods) > 0
}

// spread is how much longer the first revision waits, for which nobody does: of very many PodManagers made at the same time,
// each has a time of its own to write that down.
func (r *State) spread() time.Duration {
	if r.Old != nil || r.Manager.Status.CurrentRevision != "" {
		return 0
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(r.Manager.UID)) // never fails, says hash.Hash
	return time.Duration(float64(r.Manager.FailureGrace()) * float64(hash.Sum32()) / (1 << 32))
}

// canReturn tells whether there is a revision to return to: the last good one, or one whose pods serve.
func (r *State) canReturn() bool {
	serves := func(pod *corev1.Pod) bool { return health.IsAvailable(pod, r.Manager.MinReady(), r.Now) }
	return r.Old != nil && r.Old.IsStored() && (r.Old == r.Revisions.Current || slices.ContainsFunc(r.OldPods, serves))
}
