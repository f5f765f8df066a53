package plan

import (
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A revision proves itself by time: it becomes the one to return to when all of its pods have been available together for as
// long as a failing pod has to recover. Until then the failure policy judges it, also after the last wave.

// isGood tells whether the present revision has proved itself, so that others may return to it.
func (r *rollout) isGood() bool {
	wait, underway := r.untilGood()
	return underway && wait == 0
}

// untilGood is how long the pods still have to stay available together. It is false while that has not begun.
func (r *rollout) untilGood() (time.Duration, bool) {
	if !r.isRolling() || len(r.updated) != r.manager.DesiredReplicas() || r.wantBase+len(r.based)+len(r.strays) > 0 ||
		(len(r.failing) > 0 && r.manager.OnFailure() != v1.ContinueOnFailure) {
		return 0, false
	}
	return r.untilProven(r.updated, r.unhurried())
}

// untilBaseGood is the same for base, where no revision has proved itself yet: pods that a partition, or a halt, leaves as they
// are go on to.
func (r *rollout) untilBaseGood() (time.Duration, bool) {
	if r.base == nil || r.base.stored == nil || r.manager.Status.CurrentRevision != "" || r.rolledBack || len(r.based) < r.wantBase {
		return 0, false
	}
	return r.untilProven(r.based, 0)
}

// untilProven is how long these pods still have to stay available together, and some more.
func (r *rollout) untilProven(pods []*corev1.Pod, more time.Duration) (time.Duration, bool) {
	var since time.Time
	for _, pod := range pods {
		if !isAvailable(pod, r.manager.MinReady(), r.now) {
			return 0, false
		}
		if at := serviceSince(pod); at.After(since) {
			since = at
		}
	}
	return max(0, since.Add(r.manager.MinReady()+r.manager.FailureGrace()+more).Sub(r.now)), len(pods) > 0
}

// unhurried is how much longer the first revision waits, for which nobody does: of very many PodManagers made at the same time,
// each has a time of its own to write that down.
func (r *rollout) unhurried() time.Duration {
	if r.base != nil || r.manager.Status.CurrentRevision != "" {
		return 0
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(r.manager.UID)) // never fails, says hash.Hash
	return time.Duration(float64(r.manager.FailureGrace()) * float64(hash.Sum32()) / (1 << 32))
}

// canReturn tells whether there is a revision to return to: the last good one, or one whose pods serve.
func (r *rollout) canReturn() bool {
	serves := func(pod *corev1.Pod) bool { return isAvailable(pod, r.manager.MinReady(), r.now) }
	return r.base != nil && r.base.stored != nil && (r.base == r.revisions.Current || slices.ContainsFunc(r.based, serves))
}

// serviceSince is when a pod that is ready last became so, or was changed in place.
func serviceSince(pod *corev1.Pod) time.Time {
	since := readySince(pod)
	if changed := inPlaceRecord(pod).At; changed.After(since) {
		return changed
	}
	return since
}
