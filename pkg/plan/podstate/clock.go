package podstate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ServerTime converts a reported time from the clock of the pod's kubelet to the API server's clock, so that a node whose clock is minutes off
// neither delays nor hastens the controller's decisions. If the node's clock is ahead, it returns when the API server last heard from the kubelet,
// because the event cannot have been later. If the clock is known to be behind, it adds the known lag.
func ServerTime(pod *corev1.Pod, reported time.Time) time.Time {
	reported = reported.Add(clockLag(pod))
	if written, known := ReadyWritten(pod); known && reported.After(written) {
		return written
	}
	return reported
}

// clockLag returns the minimum by which the clock of the pod's node is behind. The kubelet cannot have started the pod before the scheduler bound
// it to the node. A difference of one second may be due to rounding.
func clockLag(pod *corev1.Pod) time.Duration {
	scheduled := Condition(pod, corev1.PodScheduled)
	if scheduled == nil || scheduled.Status != corev1.ConditionTrue || pod.Status.StartTime == nil {
		return 0
	}
	if lag := scheduled.LastTransitionTime.Sub(pod.Status.StartTime.Time); lag > time.Second {
		return lag
	}
	return 0
}

// isClockAhead reports whether the pod's kubelet has reported a time later than the API server received it, so that ServerTime corrects the time.
func isClockAhead(pod *corev1.Pod) bool {
	written, known := ReadyWritten(pod)
	if !known {
		return false
	}
	latest := written.Add(-clockLag(pod))
	for status := range ContainerStatuses(pod) {
		running, terminated := status.State.Running, status.State.Terminated
		if running != nil && running.StartedAt.After(latest) || terminated != nil && terminated.FinishedAt.After(latest) {
			return true
		}
	}
	isAhead := func(c corev1.PodCondition) bool { return c.LastTransitionTime.After(latest) }
	return slices.ContainsFunc(pod.Status.Conditions, isAhead) || pod.Status.StartTime != nil && pod.Status.StartTime.After(latest)
}
