package inplace

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// UpdatedAt is when an update in place was last made to the pod, or began.
func UpdatedAt(pod *corev1.Pod) time.Time {
	at := CompletedRecord(pod).At
	if last := lastRecord(pod); last.Begun && last.At.After(at) {
		return last.At
	}
	return at
}

// IsUpdating tells whether the node has not yet carried out an update in place.
func IsUpdating(pod *corev1.Pod) bool {
	if !hasRecord(pod) {
		return false
	}
	record := CompletedRecord(pod)
	if record.Revision == "" && !HasBegun(pod) {
		return false
	}
	return !podstate.HasObserved(pod) || podstate.IsResizing(pod) || IsToRestart(pod)
}

// IsToRestart tells whether a container has yet to be restarted for the change that gave the pod its revision.
func IsToRestart(pod *corev1.Pod) bool {
	for name, before := range CompletedRecord(pod).Containers {
		if !IsRestarted(pod, name, before) && !hasAllItHad(pod, name, before) {
			return true
		}
	}
	return false
}

// hasAllItHad tells whether a change that was not carried out is being taken back, so far that the container is to have what it
// had before it: there is nothing left to restart it for.
func hasAllItHad(pod *corev1.Pod, name string, before ContainerBefore) bool {
	begun, container := lastRecord(pod), podstate.ContainerNamed(&pod.Spec, name)
	had := begun.Containers[name].Had
	return begun.Begun && before.From == "" && had != nil && !isUnknown(had) && container != nil &&
		equality.Semantic.DeepEqual(resizableOf(container.Resources), *had)
}

// IsHeldUp tells whether all that is left of a change is CPU or memory that the node does not give yet, or not at all: until
// then the pod serves as it did before.
func IsHeldUp(pod *corev1.Pod) bool {
	if !podstate.HasObserved(pod) || podstate.ResizeTrouble(pod) == "" {
		return false
	}
	for name, before := range CompletedRecord(pod).Containers {
		if before.From != "" && !IsRestarted(pod, name, before) {
			return false
		}
	}
	return true
}

// MayRestart tells whether the node may restart a container at any time, to give it its CPU or memory.
func MayRestart(pod *corev1.Pod) bool {
	if !hasRecord(pod) {
		return false
	}
	if last := lastRecord(pod); last.Begun && len(last.Containers) > 0 {
		return true
	}
	for name, before := range CompletedRecord(pod).Containers {
		if !IsRestarted(pod, name, before) || before.Had != nil && podstate.IsResizing(pod) {
			return true
		}
	}
	return false
}

// IsRestarted tells whether the container was restarted for the change. A node restarts it for any other name of an image, even
// if that stands for the same image. The name in the status tells nothing: runtimes spell it in their own way.
func IsRestarted(pod *corev1.Pod, name string, before ContainerBefore) bool {
	for status := range podstate.ContainerStatuses(pod) {
		if status.Name != name {
			continue
		}
		if before.Optional { // either it never ran another image, or it was restarted once more
			return before.From == "" || status.ImageID == before.ImageID || before.ImageID == "" || status.RestartCount > before.Restarts+1
		}
		return status.RestartCount > before.Restarts || (status.ImageID != before.ImageID && status.ImageID != "")
	}
	return false
}
