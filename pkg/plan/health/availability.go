package health

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// isInService reports whether the pod serves: it is ready, its node is not lost, and it is not being updated in place. During an update in place,
// the status still describes the pod before the update. But a pod whose resize is stuck serves as before.
func isInService(pod *corev1.Pod, now time.Time) bool {
	return podstate.IsReady(pod) && pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" && !podstate.IsDrained(pod) &&
		(!inplace.IsUpdating(pod) || inplace.IsResizeStuck(pod)) && inplace.StatusTrustDelay(pod, now) == 0
}

// UntilAvailable returns how long a pod in service has to stay in service to become available. If the pod is not in service, it returns false and
// the time until that may change without an event; zero means never.
func UntilAvailable(pod *corev1.Pod, minReady time.Duration, now time.Time) (time.Duration, bool) {
	if !isInService(pod, now) {
		return inplace.StatusTrustDelay(pod, now), false
	}
	if minReady == 0 {
		return 0, true
	}
	since := podstate.ReadySince(pod)
	if updated := inplace.UpdatedAt(pod); updated.After(since) && !inplace.IsResizeStuck(pod) {
		since = updated
	}
	return max(0, since.Add(minReady).Sub(now)), true
}

// IsAvailable reports whether the pod has been in service for at least minReady. It is the only definition of availability, for the rollout and for
// the status.
func IsAvailable(pod *corev1.Pod, minReady time.Duration, now time.Time) bool {
	wait, inService := UntilAvailable(pod, minReady, now)
	return inService && wait == 0
}

// ServiceSince returns when a ready pod last became ready or was updated in place, whichever is later.
func ServiceSince(pod *corev1.Pod) time.Time {
	since := podstate.ReadySince(pod)
	if updated := inplace.CompletedRecord(pod).At; updated.After(since) {
		return updated
	}
	return since
}
