package controller

import (
	corev1 "k8s.io/api/core/v1"
)

// TrimPod is the informers' transform: it drops what the controller never reads, so that the cache of a large cluster
// stays small. What it keeps is what pkg/plan looks at.
func TrimPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil // a revision, or a tombstone
	}
	pod.ManagedFields = nil
	if !isManaged(pod) {
		// Somebody else's pod: only its name matters, because it is taken, and its labels and owners, as they are
		// what makes it not ours.
		pod.Annotations = nil
		pod.Spec = corev1.PodSpec{}
		pod.Status = corev1.PodStatus{}
		return pod, nil
	}
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName, ReadinessGates: pod.Spec.ReadinessGates}
	return pod, nil
}
