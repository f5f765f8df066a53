package health

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// isInService tells whether the pod serves: it is ready, it runs on a node that is not lost, and it is not being changed. What a
// pod says of itself that is being changed is no longer true; one that has to wait for its CPU or memory serves.
func isInService(pod *corev1.Pod) bool {
	return podstate.IsReady(pod) && pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" &&
		!podstate.IsDrained(pod) && (!inplace.IsUpdating(pod) || inplace.IsHeldUp(pod))
}

// UntilAvailable is how long a pod that is in service has to stay so to be available; false if it is not in service.
func UntilAvailable(pod *corev1.Pod, minReady time.Duration, now time.Time) (time.Duration, bool) {
	if !isInService(pod) {
		return 0, false
	}
	if minReady == 0 {
		return 0, true
	}
	since := podstate.ReadySince(pod)
	if changed := inplace.UpdatedAt(pod); changed.After(since) && !inplace.IsHeldUp(pod) {
		since = changed
	}
	return max(0, since.Add(minReady).Sub(now)), true
}

// IsAvailable tells whether the pod can be relied on. It is the only judge of that, for what is done and for what is said.
func IsAvailable(pod *corev1.Pod, minReady time.Duration, now time.Time) bool {
	wait, inService := UntilAvailable(pod, minReady, now)
	return inService && wait == 0
}

// ServiceSince is when a pod that is ready last became so, or was updated in place.
func ServiceSince(pod *corev1.Pod) time.Time {
	since := podstate.ReadySince(pod)
	if changed := inplace.CompletedRecord(pod).At; changed.After(since) {
		return changed
	}
	return since
}
