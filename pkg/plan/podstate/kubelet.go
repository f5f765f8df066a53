package podstate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// HasObserved reports whether the kubelet has observed the pod's present spec. It is true for a kubelet older than Kubernetes 1.34, which reports
// no observed generation: then the rest of the pod's status decides.
func HasObserved(pod *corev1.Pod) bool {
	observed := pod.Status.ObservedGeneration
	return observed == 0 || observed >= pod.Generation
}

// IsResizing reports whether, according to the kubelet, a resize by the controller is pending or in progress.
func IsResizing(pod *corev1.Pod) bool {
	return !IsSizedByVPA(pod) && (Condition(pod, corev1.PodResizeInProgress) != nil || Condition(pod, corev1.PodResizePending) != nil)
}

// HasOtherResources reports whether the CPU or memory of the pod or of a container, as far as the kubelet reports it, differs from the pod's spec. It
// returns false if a VerticalPodAutoscaler sets them.
func HasOtherResources(pod *corev1.Pod) bool {
	if IsSizedByVPA(pod) {
		return false
	}
	return otherResources(pod) != nil || slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool { return differsFromSpec(pod, &status) })
}

func differsFromSpec(pod *corev1.Pod, status *corev1.ContainerStatus) bool {
	if status.Resources == nil {
		return false
	}
	container := ContainerNamed(&pod.Spec, status.Name)
	return container != nil && (differ(container.Resources.Requests, status.Resources.Requests, corev1.ResourceCPU, corev1.ResourceMemory) ||
		differ(container.Resources.Limits, status.Resources.Limits, corev1.ResourceCPU, corev1.ResourceMemory))
}

// differ reports whether the kubelet reports another amount of one of these resources than the spec has.
func differ(wanted, reported corev1.ResourceList, names ...corev1.ResourceName) bool {
	for _, name := range names {
		want, isWanted := wanted[name]
		got, isReported := reported[name]
		if isWanted && isReported && want.Cmp(got) != 0 {
			return true
		}
	}
	return false
}

// ResizeTrouble returns why the kubelet does not resize the pod for the controller, or empty if the resize is complete or makes progress.
func ResizeTrouble(pod *corev1.Pod) string {
	pending, progress := Condition(pod, corev1.PodResizePending), Condition(pod, corev1.PodResizeInProgress)
	switch {
	case IsSizedByVPA(pod):
		return ""
	case pending != nil && pending.Status == corev1.ConditionTrue:
		return "resize " + OneLine(strings.ToLower(pending.Reason), pending.Message)
	case progress != nil && progress.Status == corev1.ConditionTrue && progress.Reason == corev1.PodReasonError:
		return "resize " + OneLine("failed", progress.Message)
	default:
		return ""
	}
}

// IsInfeasible reports whether the kubelet has rejected a resize by the controller as infeasible on the pod's node.
func IsInfeasible(pod *corev1.Pod) bool {
	pending := Condition(pod, corev1.PodResizePending)
	return !IsSizedByVPA(pod) && HasObserved(pod) && pending != nil && pending.Status == corev1.ConditionTrue && pending.Reason == corev1.PodReasonInfeasible
}
