package plan

import (
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// record is what a pod tells of its last change in place.
type record struct {
	// Revision is the hash of the revision that it was changed to.
	Revision string    `json:"revision"`
	At       time.Time `json:"at,omitzero"`
	// Begun tells that the change has begun and is not complete: the pod may have other CPU and memory than its revision
	// says, which it still has.
	Begun bool `json:"begun,omitempty"`
	// Containers has those that the change restarts, as they were before.
	Containers map[string]containerBefore `json:"containers,omitempty"`
	// Others has the others that were not as new, as they were before: all kinds of containers.
	Others map[string]otherBefore `json:"others,omitempty"`
	// Refused is why the API server would not have the change; the pod has its old revision then.
	Refused string `json:"refused,omitempty"`
	// Before is, in that case and for a change that has begun, the record of how the pod got the revision that it has.
	Before *record `json:"before,omitempty"`
}

// otherBefore is how a container was before a change that leaves it alone.
type otherBefore struct {
	Restarts int32 `json:"restarts,omitempty"`
	// Trouble is what kept it from running, see troubleKind.
	Trouble string `json:"trouble,omitempty"`
}

// containerBefore is how a container was before a change that restarts it.
type containerBefore struct {
	ImageID  string `json:"imageID,omitempty"`
	Restarts int32  `json:"restarts,omitempty"`
	// Trouble is what kept it from running, see troubleKind.
	Trouble string `json:"trouble,omitempty"`
	// From is the image that it runs, if it gets another one, and Had are its CPU and memory, if it is restarted to get others;
	// empty if it is not known which of several it has.
	From string                       `json:"from,omitempty"`
	Had  *corev1.ResourceRequirements `json:"had,omitempty"`
	// Generation is the pod's when that was so. Its node may restart the container once for each one since, besides those that were
	// Seen when the last of the changes was made.
	Generation int64 `json:"generation,omitempty"`
	Seen       int32 `json:"seen,omitempty"`
	// Optional tells that none may come: the change is taken back, and its node may never have followed.
	Optional bool `json:"optional,omitempty"`
}

// unknown is the CPU and memory of a container that its node may have given some of what it was to have, and nobody can tell which.
var unknown = &corev1.ResourceRequirements{}

func isUnknown(had *corev1.ResourceRequirements) bool { return len(had.Requests)+len(had.Limits) == 0 }

// records has annotations that were decoded before: a plan asks for each of them several times, and each plan again.
var records = lru.New(1 << 14)

// hasRecord tells whether the pod was ever to be changed in place. Most were not, and need not be looked at any further.
func hasRecord(pod *corev1.Pod) bool { return pod.Annotations[v1.AnnotationInPlace] != "" }

// lastRecord is what the pod's annotation says; empty if it has none. Nobody may change what it points to.
func lastRecord(pod *corev1.Pod) record {
	text := pod.Annotations[v1.AnnotationInPlace]
	if text == "" {
		return record{}
	}
	if known, found := records.Get(text); found {
		return known.(record)
	}
	var read record
	if json.Unmarshal([]byte(text), &read) != nil {
		read = record{}
	}
	records.Add(text, read)
	return read
}

// refusalOf is why the API server would not have the pod changed to a revision; empty if it was not asked.
func refusalOf(pod *corev1.Pod, revision string) string {
	if last := lastRecord(pod); last.Revision == revision {
		return last.Refused
	}
	return ""
}

// hasBegun tells whether a change of the pod's CPU or memory has begun and was not completed: whoever did it has died, or
// was given no answer. It is completed, or else what the pod's revision says is restored.
func hasBegun(pod *corev1.Pod) bool { return hasRecord(pod) && lastRecord(pod).Begun }

// inPlaceRecord is the record of how the pod got the revision that it has; empty if it was made from it.
func inPlaceRecord(pod *corev1.Pod) record {
	last := lastRecord(pod)
	if last.Refused != "" || last.Begun {
		last = ptr.Deref(last.Before, record{})
	}
	if last.Revision != pod.Labels[v1.LabelRevision] && !isMadeByHand(pod) { // which has no label, and may have been restored
		return record{}
	}
	return last
}

// changedAt is when a change in place was last made to the pod, or began.
func changedAt(pod *corev1.Pod) time.Time {
	at := inPlaceRecord(pod).At
	if last := lastRecord(pod); last.Begun && last.At.After(at) {
		return last.At
	}
	return at
}

// isChanging tells whether the node has not yet carried out a change in place.
func isChanging(pod *corev1.Pod) bool {
	if !hasRecord(pod) {
		return false
	}
	record := inPlaceRecord(pod)
	if record.Revision == "" && !hasBegun(pod) {
		return false
	}
	return !hasObserved(pod) || isResizing(pod) || isToRestart(pod)
}

// isToRestart tells whether a container has yet to be restarted for the change that gave the pod its revision.
func isToRestart(pod *corev1.Pod) bool {
	for name, before := range inPlaceRecord(pod).Containers {
		if !isChanged(pod, name, before) && !hasAllItHad(pod, name, before) {
			return true
		}
	}
	return false
}

// hasAllItHad tells whether a change that was not carried out is being taken back, so far that the container is to have what it
// had before it: there is nothing left to restart it for.
func hasAllItHad(pod *corev1.Pod, name string, before containerBefore) bool {
	begun, container := lastRecord(pod), containerNamed(&pod.Spec, name)
	had := begun.Containers[name].Had
	return begun.Begun && before.From == "" && had != nil && !isUnknown(had) && container != nil &&
		equality.Semantic.DeepEqual(resizableOf(container.Resources), *had)
}

// hasObserved tells whether the node has seen the pod's spec as it is; one that does not tell, before Kubernetes 1.34, is
// judged by the rest of what it says.
func hasObserved(pod *corev1.Pod) bool {
	observed := pod.Status.ObservedGeneration
	return observed == 0 || observed >= pod.Generation
}

// isResizing tells whether the node says that the pod is yet to get its CPU or memory.
func isResizing(pod *corev1.Pod) bool {
	return condition(pod, corev1.PodResizeInProgress) != nil || condition(pod, corev1.PodResizePending) != nil
}

// isHeldUp tells whether all that is left of a change is CPU or memory that the node does not give yet, or not at all: until
// then the pod serves as it did before.
func isHeldUp(pod *corev1.Pod) bool {
	if !hasObserved(pod) || resizeTrouble(pod) == "" {
		return false
	}
	for name, before := range inPlaceRecord(pod).Containers {
		if before.From != "" && !isChanged(pod, name, before) {
			return false
		}
	}
	return true
}

// mayRestart tells whether the node may restart a container at any time, to give it its CPU or memory.
func mayRestart(pod *corev1.Pod) bool {
	if !hasRecord(pod) {
		return false
	}
	if last := lastRecord(pod); last.Begun && len(last.Containers) > 0 {
		return true
	}
	for name, before := range inPlaceRecord(pod).Containers {
		if !isChanged(pod, name, before) || before.Had != nil && isResizing(pod) {
			return true
		}
	}
	return false
}

// isChanged tells whether the container was restarted for the change. A node restarts it for any other name of an image, even
// if that stands for the same image. The name in the status tells nothing: runtimes spell it in their own way.
func isChanged(pod *corev1.Pod, name string, before containerBefore) bool {
	for status := range containerStatuses(pod) {
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

// resizeTrouble is why the pod does not get its CPU or memory; empty if it has it, or is about to.
func resizeTrouble(pod *corev1.Pod) string {
	pending, progress := condition(pod, corev1.PodResizePending), condition(pod, corev1.PodResizeInProgress)
	switch {
	case pending != nil && pending.Status == corev1.ConditionTrue:
		return "resize " + oneLine(strings.ToLower(pending.Reason), pending.Message)
	case progress != nil && progress.Status == corev1.ConditionTrue && progress.Reason == corev1.PodReasonError:
		return "resize " + oneLine("failed", progress.Message)
	default:
		return ""
	}
}

// isInfeasible tells whether the pod's node has refused the CPU or memory that the pod was given in place.
func isInfeasible(pod *corev1.Pod) bool {
	pending := condition(pod, corev1.PodResizePending)
	return hasObserved(pod) && pending != nil && pending.Status == corev1.ConditionTrue && pending.Reason == corev1.PodReasonInfeasible
}
