package podstate

import corev1 "k8s.io/api/core/v1"

// The annotations that VerticalPodAutoscaler puts on pods: its admission controller when they are created, and its updater when it resizes them.
const (
	annotationVPACreated  = "vpaUpdates"
	annotationVPAObserved = "vpaObservedContainers"
	annotationVPAResized  = "vpaInPlaceUpdated"
)

// IsSizedByVPA reports whether a VerticalPodAutoscaler sets the pod's CPU and memory. The controller then leaves them alone, and does not take a
// resize of the pod for its own.
func IsSizedByVPA(pod *corev1.Pod) bool {
	for _, key := range []string{annotationVPACreated, annotationVPAObserved, annotationVPAResized} {
		if _, found := pod.Annotations[key]; found {
			return true
		}
	}
	return false
}
