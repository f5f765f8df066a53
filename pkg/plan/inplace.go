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
	// StepRestore gives a pod back what its revision says, where a change has begun that is not wanted any more.
	StepRestore Step = "Restore"
)

// TurnsTheGate tells whether the step is only about the readiness gate.
func (i InPlace) TurnsTheGate() bool { return i.Step == StepDrain || i.Step == StepOpen }

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

// cannotBeDrained tells whether the pod has to be changed while it is in service, although a grace period is set: it was
// made before that, and gates cannot be added later.
func cannotBeDrained(manager *v1.PodManager, pod *corev1.Pod) bool {
	return manager.InPlaceGrace() > 0 && !hasGate(pod)
}

// ByDrained tells the pods that could be drained, or need not be, from those that were changed in service.
func ByDrained(manager *v1.PodManager, pods []*corev1.Pod) (drained, undrained []*corev1.Pod) {
	for _, pod := range pods {
		if cannotBeDrained(manager, pod) {
			undrained = append(undrained, pod)
		} else {
			drained = append(drained, pod)
		}
	}
	return drained, undrained
}

// nextStep is what to do now to change the pod. The duration is how long to wait if that is nothing yet.
func nextStep(manager *v1.PodManager, pod *corev1.Pod, now time.Time) (Step, time.Duration) {
	grace := manager.InPlaceGrace()
	if grace == 0 || cannotBeDrained(manager, pod) {
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

// MustOpenFirst tells whether a pod that is to be released is kept out of its Services by our readiness gate: nobody would
// ever open it.
func MustOpenFirst(pod *corev1.Pod) bool {
	gate := condition(pod, v1.InPlaceReady)
	return hasGate(pod) && (gate == nil || gate.Status != corev1.ConditionTrue)
}

// mustOpen tells whether the readiness gate of a pod that is not being changed, has been, or has to wait for that, is to be
// opened: nobody else does.
func mustOpen(pod *corev1.Pod) bool {
	return MustOpenFirst(pod) && (!isChanging(pod) || isHeldUp(pod))
}
