package source

import (
	"slices"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// TrimPod is the informers' transform: it drops what the controller never reads, and keeps one copy of what many pods say
// alike, so that the cache of a large cluster stays small. What it keeps is what pkg/plan looks at.
func TrimPod(obj any) (any, error) {
	if revision, ok := obj.(*appsv1.ControllerRevision); ok {
		revision.ManagedFields = nil
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil // a revision, or a tombstone
	}
	pod.ManagedFields = nil
	pod.GenerateName = ""
	pod.Labels = keep(pod.Labels, v1.LabelManager, v1.LabelRevision)
	share(&pod.Namespace)
	for i := range pod.OwnerReferences {
		ref := &pod.OwnerReferences[i]
		share(&ref.APIVersion, &ref.Kind, &ref.Name, (*string)(&ref.UID))
	}
	if !IsManaged(pod) {
		// Somebody else's pod: only its name matters, because it is taken, and its labels and owners, as they are
		// what makes it not ours.
		pod.Annotations = nil
		pod.Spec = corev1.PodSpec{}
		pod.Status = corev1.PodStatus{}
		return pod, nil
	}
	pod.Annotations = keep(pod.Annotations, v1.AnnotationDelete, v1.AnnotationFailuresBefore, v1.AnnotationDisruptionsBefore,
		v1.AnnotationInPlace, corev1.PodDeletionCost)
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName, ReadinessGates: pod.Spec.ReadinessGates}
	share(&pod.Spec.NodeName)
	trimStatus(&pod.Status)
	return pod, nil
}

func trimStatus(status *corev1.PodStatus) {
	*status = corev1.PodStatus{
		ObservedGeneration: status.ObservedGeneration, Phase: status.Phase, Conditions: status.Conditions,
		Reason: status.Reason, Message: status.Message, StartTime: status.StartTime,
		InitContainerStatuses: status.InitContainerStatuses, ContainerStatuses: status.ContainerStatuses,
	}
	share((*string)(&status.Phase), &status.Reason)
	if status.Phase == corev1.PodRunning || status.Phase == corev1.PodPending {
		// Of pods that have ended every time may tell when.
		status.Conditions = slices.Clone(slices.DeleteFunc(status.Conditions, saysNothing))
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		share((*string)(&c.Type), (*string)(&c.Status), &c.Reason, &c.Message)
	}
	for _, containers := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range containers {
			c := &containers[i]
			containers[i] = corev1.ContainerStatus{
				Name: c.Name, ImageID: c.ImageID, Ready: c.Ready, RestartCount: c.RestartCount,
				State: c.State, LastTerminationState: c.LastTerminationState,
			}
			share(&c.Name, &c.ImageID)
		}
	}
}

// saysNothing tells whether a condition is one of the steps towards Ready, and taken: then nobody asks for it.
func saysNothing(c corev1.PodCondition) bool {
	switch c.Type {
	case corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReadyToStartContainers:
		return c.Status == corev1.ConditionTrue
	default:
		return false
	}
}

// share makes strings that are equal use the same memory.
func share(texts ...*string) {
	for _, text := range texts {
		if *text != "" {
			*text = unique.Make(*text).Value()
		}
	}
}

// keep returns what a map says for some keys, and nil if that is nothing.
func keep(texts map[string]string, keys ...string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		if text, found := texts[key]; found {
			if kept == nil {
				kept = make(map[string]string, len(keys))
			}
			share(&text)
			kept[key] = text
		}
	}
	return kept
}
