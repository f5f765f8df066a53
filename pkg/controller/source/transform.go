package source

import (
	"slices"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// TrimPod is the informers' transform. It drops the fields that pkg/plan never reads, and lets pods share equal strings, so that the
// caches of a large cluster stay small.
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
		// A pod with our label that another controller controls: the plan needs its name, which is taken, and its labels and owners, which
		// show that it is not ours.
		pod.Annotations = nil
		pod.Spec = corev1.PodSpec{}
		pod.Status = corev1.PodStatus{}
		return pod, nil
	}
	pod.Annotations = keep(pod.Annotations, v1.AnnotationDelete, v1.AnnotationFailuresBefore, v1.AnnotationDisruptionsBefore,
		v1.AnnotationInPlace, corev1.PodDeletionCost)
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName, ReadinessGates: pod.Spec.ReadinessGates, Containers: trimContainers(pod)}
	share(&pod.Spec.NodeName)
	trimStatus(&pod.Status)
	return pod, nil
}

// trimContainers keeps what tells how far an update in place is. Most pods need nothing of it: they are as their revision says.
func trimContainers(pod *corev1.Pod) []corev1.Container {
	if pod.Annotations[v1.AnnotationInPlace] == "" && !podstate.IsMadeByHand(pod) {
		return nil
	}
	kept := make([]corev1.Container, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		share(&c.Name, &c.Image)
		container := corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources}
		if c.StartupProbe != nil {
			container.StartupProbe = &corev1.Probe{PeriodSeconds: c.StartupProbe.PeriodSeconds}
		}
		kept = append(kept, container)
	}
	return kept
}

func trimStatus(status *corev1.PodStatus) {
	*status = corev1.PodStatus{
		ObservedGeneration: status.ObservedGeneration, Phase: status.Phase, Conditions: status.Conditions,
		Reason: status.Reason, Message: status.Message, StartTime: status.StartTime,
		InitContainerStatuses: status.InitContainerStatuses, ContainerStatuses: status.ContainerStatuses,
	}
	share((*string)(&status.Phase), &status.Reason)
	if status.Phase == corev1.PodRunning || status.Phase == corev1.PodPending {
		// Finished pods keep all conditions: any of their times may tell when the pod finished.
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
				State: c.State, LastTerminationState: c.LastTerminationState, Started: notStarted(c),
			}
			share(&c.Name, &c.ImageID)
		}
	}
}

// notStarted is a container's Started if it tells more than its state: the container runs, and its startup probe has not succeeded yet.
func notStarted(c *corev1.ContainerStatus) *bool {
	if c.State.Running != nil && c.Started != nil && !*c.Started {
		return c.Started
	}
	return nil
}

// saysNothing tells whether a condition is a step towards Ready that is done: then pkg/plan does not read it.
func saysNothing(c corev1.PodCondition) bool {
	switch c.Type {
	case corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReadyToStartContainers:
		return c.Status == corev1.ConditionTrue
	default:
		return false
	}
}

// share makes equal strings use the same memory.
func share(texts ...*string) {
	for _, text := range texts {
		if *text != "" {
			*text = unique.Make(*text).Value()
		}
	}
}

// keep returns the entries of a map that have one of the keys, and nil if there are none.
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
