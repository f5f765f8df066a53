package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// InPlace is one step of changing a pod without replacing it.
type InPlace struct {
	Pod  *corev1.Pod
	Step Step
	// From and To are the pod's revision and the one that it gets.
	From, To *Revision
}

// Step is what is done to the pod.
type Step string

// The steps, in their order. Without a grace period there is only the second one.
const (
	// StepDrain closes the readiness gate, which takes the pod out of its Services.
	StepDrain Step = "Drain"
	// StepChange changes the pod.
	StepChange Step = "Change"
	// StepOpen opens the readiness gate.
	StepOpen Step = "Open"
)

// Change is what differs between two templates, if a pod can be changed from one to the other in place.
type Change struct {
	// Images and Resources are the new ones, by container.
	Images    map[string]string
	Resources map[string]corev1.ResourceRequirements
}

// changeBetween compares two templates. If a pod cannot be changed from one to the other, it tells why.
func changeBetween(from, to *corev1.PodTemplateSpec) (Change, string) {
	if from == nil || to == nil {
		return Change{}, "the template that the pod was made from is not known any more"
	}
	if from.Annotations[v1.AnnotationRestartedAt] != to.Annotations[v1.AnnotationRestartedAt] {
		return Change{}, "a restart was asked for"
	}
	change := Change{Images: map[string]string{}, Resources: map[string]corev1.ResourceRequirements{}}
	// What is left different, once all that can be changed is made the same, is in the way.
	rest := to.DeepCopy()
	rest.Labels, rest.Annotations = from.Labels, from.Annotations
	for i := range min(len(from.Spec.Containers), len(rest.Spec.Containers)) {
		before, after := &from.Spec.Containers[i], &rest.Spec.Containers[i]
		if before.Name != after.Name {
			break
		}
		if before.Image != after.Image {
			change.Images[after.Name] = after.Image
			after.Image = before.Image
		}
		if isResizable(before.Resources, after.Resources) {
			change.Resources[after.Name] = requested(after.Resources)
			after.Resources = before.Resources
		}
	}
	if !equality.Semantic.DeepEqual(from.Spec, rest.Spec) || !slices.Equal(from.Finalizers, rest.Finalizers) {
		return Change{}, firstDifference(from, rest) + " differs"
	}
	if len(change.Resources) > 0 && qosOf(&from.Spec) != qosOf(&to.Spec) {
		return Change{}, fmt.Sprintf("the QoS class would change from %s to %s", qosOf(&from.Spec), qosOf(&to.Spec))
	}
	return change, ""
}

// firstDifference is the path of the first field that differs.
func firstDifference(from, to *corev1.PodTemplateSpec) string {
	decode := func(template *corev1.PodTemplateSpec) (value any) {
		_ = json.Unmarshal(encode(template), &value) // it has just been encoded
		return value
	}
	return differs("template", decode(from), decode(to))
}

func differs(path string, from, to any) string {
	switch from := from.(type) {
	case map[string]any:
		to, ok := to.(map[string]any)
		if !ok {
			return path
		}
		all := maps.Clone(from)
		maps.Copy(all, to)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !reflect.DeepEqual(from[key], to[key]) {
				return differs(path+"."+key, from[key], to[key])
			}
		}
	case []any:
		to, ok := to.([]any)
		if !ok || len(from) != len(to) {
			return path
		}
		for i := range from {
			if !reflect.DeepEqual(from[i], to[i]) {
				return differs(path+"["+strconv.Itoa(i)+"]", from[i], to[i])
			}
		}
	}
	return path
}

// record is what a pod tells of its last change in place.
type record struct {
	// Revision is the hash of the revision that it was changed to.
	Revision string    `json:"revision"`
	At       time.Time `json:"at,omitzero"`
	// Containers has those that get another image, as they were before.
	Containers map[string]containerBefore `json:"containers,omitempty"`
	// Restarts is how often any container had been restarted before.
	Restarts int32 `json:"restarts,omitempty"`
	// Refused is why the API server would not have the change; the pod has its old revision then.
	Refused string `json:"refused,omitempty"`
	// Before is, in that case, the record of how the pod got the revision that it has.
	Before *record `json:"before,omitempty"`
}

type containerBefore struct {
	ImageID  string `json:"imageID,omitempty"`
	Restarts int32  `json:"restarts,omitempty"`
	// From and Image are the old image and the new one.
	From  string `json:"from,omitempty"`
	Image string `json:"image"`
}

// records has annotations that were decoded before: a plan asks for each of them several times, and each plan again.
var records = lru.New(1 << 14)

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

// inPlaceRecord is the record of how the pod got the revision that it has; empty if it was made from it.
func inPlaceRecord(pod *corev1.Pod) record {
	last := lastRecord(pod)
	if last.Refused != "" {
		last = ptr.Deref(last.Before, record{})
	}
	if last.Revision != pod.Labels[v1.LabelRevision] {
		return record{}
	}
	return last
}

// isChanging tells whether the node has not yet carried out a change in place.
func isChanging(pod *corev1.Pod) bool {
	record := inPlaceRecord(pod)
	if record.Revision == "" {
		return false
	}
	if observed := pod.Status.ObservedGeneration; observed > 0 && observed < pod.Generation {
		return true
	}
	if condition(pod, corev1.PodResizeInProgress) != nil || condition(pod, corev1.PodResizePending) != nil {
		return true
	}
	for name, before := range record.Containers {
		if !isChanged(pod, name, before) {
			return true
		}
	}
	return false
}

// isChanged tells whether the container runs the new image. Runtimes write the name of an image in their own way, and two
// names may stand for one image, so any of three signs will do.
func isChanged(pod *corev1.Pod, name string, before containerBefore) bool {
	for status := range containerStatuses(pod) {
		if status.Name == name {
			return status.Image == before.Image || status.RestartCount > before.Restarts ||
				(status.ImageID != before.ImageID && status.ImageID != "")
		}
	}
	return false
}

// isInfeasible tells whether the pod's node has refused the CPU or memory that the pod was given in place.
func isInfeasible(pod *corev1.Pod) bool {
	if observed := pod.Status.ObservedGeneration; observed > 0 && observed < pod.Generation {
		return false // that was about something else
	}
	pending := condition(pod, corev1.PodResizePending)
	return pending != nil && pending.Status == corev1.ConditionTrue && pending.Reason == corev1.PodReasonInfeasible
}

// gateClosed is since when our readiness gate keeps the pod out of its Services; false if it does not.
func gateClosed(pod *corev1.Pod) (time.Time, bool) {
	gate := condition(pod, v1.InPlaceReady)
	if !hasGate(pod) || gate == nil || gate.Status == corev1.ConditionTrue {
		return time.Time{}, false
	}
	return gate.LastTransitionTime.Time, true
}

// isDrained tells whether our readiness gate is closed.
func isDrained(pod *corev1.Pod) bool {
	_, closed := gateClosed(pod)
	return closed
}

// nextStep is what to do now to change the pod. The duration is how long to wait if that is nothing yet.
func nextStep(manager *v1.PodManager, pod *corev1.Pod, now time.Time) (Step, time.Duration) {
	grace := manager.InPlaceGrace()
	if grace == 0 {
		return StepChange, 0
	}
	since, closed := gateClosed(pod)
	if !closed {
		return StepDrain, 0
	}
	if wait := since.Add(grace).Sub(now); wait > 0 {
		return "", wait
	}
	return StepChange, 0
}

// mustOpen tells whether the readiness gate of a pod that is not being changed, or has been, is to be opened: nobody else
// does.
func mustOpen(pod *corev1.Pod) bool {
	gate := condition(pod, v1.InPlaceReady)
	return hasGate(pod) && (gate == nil || gate.Status != corev1.ConditionTrue) && !isChanging(pod)
}
