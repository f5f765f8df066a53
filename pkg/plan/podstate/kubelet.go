package podstate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// HasObserved tells whether the node has seen the pod's spec as it is; one that does not tell, before Kubernetes 1.34, is
// judged by the rest of what it says.
func HasObserved(pod *corev1.Pod) bool {
	observed := pod.Status.ObservedGeneration
	return observed == 0 || observed >= pod.Generation
}

// IsResizing tells whether the node says that the pod is yet to get its CPU or memory.
func IsResizing(pod *corev1.Pod) bool {
	return Condition(pod, corev1.PodResizeInProgress) != nil || Condition(pod, corev1.PodResizePending) != nil
}

// ResizeTrouble is why the pod does not get its CPU or memory; empty if it has it, or is about to.
func ResizeTrouble(pod *corev1.Pod) string {
	pending, progress := Condition(pod, corev1.PodResizePending), Condition(pod, corev1.PodResizeInProgress)
	switch {
	case pending != nil && pending.Status == corev1.ConditionTrue:
		return "resize " + OneLine(strings.ToLower(pending.Reason), pending.Message)
	case progress != nil && progress.Status == corev1.ConditionTrue && progress.Reason == corev1.PodReasonError:
		return "resize " + OneLine("failed", progress.Message)
	default:
		return ""
	}
}

// IsInfeasible tells whether the pod's node has refused the CPU or memory that the pod was given in place.
func IsInfeasible(pod *corev1.Pod) bool {
	pending := Condition(pod, corev1.PodResizePending)
	return HasObserved(pod) && pending != nil && pending.Status == corev1.ConditionTrue && pending.Reason == corev1.PodReasonInfeasible
}
