package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
)

// Diff is what differs between two templates, if a pod can be changed from one to the other in place.
type Diff struct {
	// Images and Resources are the new ones, by container.
	Images    map[string]string
	Resources map[string]corev1.ResourceRequirements
}

// Compare compares two templates. If a pod cannot be changed from one to the other, it tells why.
func Compare(from, to *corev1.PodTemplateSpec) (Diff, string) {
	if from == nil || to == nil {
		return Diff{}, "the template that the pod was made from is not known any more"
	}
	if from.Annotations[v1.AnnotationRestartedAt] != to.Annotations[v1.AnnotationRestartedAt] {
		return Diff{}, "a restart was asked for"
	}
	change := Diff{Images: map[string]string{}, Resources: map[string]corev1.ResourceRequirements{}}
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
		return Diff{}, firstDifference(from, rest) + " differs"
	}
	if len(change.Resources) > 0 && qosOf(&from.Spec) != qosOf(&to.Spec) {
		return Diff{}, fmt.Sprintf("the QoS class would change from %s to %s", qosOf(&from.Spec), qosOf(&to.Spec))
	}
	return change, ""
}

// firstDifference is the path of the first field that differs.
func firstDifference(from, to *corev1.PodTemplateSpec) string {
	decode := func(template *corev1.PodTemplateSpec) (value any) {
		_ = json.Unmarshal(history.Encode(template), &value) // it has just been encoded
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

func (c Diff) TakesTheNode() bool { return len(c.Images)+len(c.Resources) > 0 }
