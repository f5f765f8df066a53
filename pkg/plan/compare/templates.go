package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
)

// Diff is what an update in place from one template to another changes in the containers.
type Diff struct {
	// Images and Resources are the new values by container name. A container whose value stays the same has no entry. The resources of the pod
	// itself are under OfPod.
	Images    map[string]string
	Resources map[string]corev1.ResourceRequirements
}

// OfPod is the key of the pod's own resources in Diff.Resources. No container has this name.
const OfPod = ""

// Templates compares two templates. If a pod cannot be updated in place from one to the other, the text says why.
func Templates(from, to *corev1.PodTemplateSpec) (Diff, string) {
	if from == nil || to == nil {
		return Diff{}, "the pod's revision no longer exists"
	}
	if from.Annotations[v1.AnnotationRestartedAt] != to.Annotations[v1.AnnotationRestartedAt] {
		return Diff{}, "a restart was asked for"
	}
	remaining := to.DeepCopy()
	diff := takeChanges(from, remaining)
	if !equality.Semantic.DeepEqual(from.Spec, remaining.Spec) || !slices.Equal(from.Finalizers, remaining.Finalizers) {
		return Diff{}, firstDifference(from, remaining) + " differs"
	}
	if why := restartNeeded(from, to, diff); why != "" {
		return Diff{}, why
	}
	if len(diff.Resources) > 0 && qosOf(&from.Spec) != qosOf(&to.Spec) {
		return Diff{}, fmt.Sprintf("the QoS class would change from %s to %s", qosOf(&from.Spec), qosOf(&to.Spec))
	}
	return diff, ""
}

// takeChanges returns the differences between from and remaining that an update in place can apply, and removes them: it gives remaining the values
// of from. Any difference that is left rules out an update in place.
func takeChanges(from, remaining *corev1.PodTemplateSpec) Diff {
	diff := Diff{Images: map[string]string{}, Resources: map[string]corev1.ResourceRequirements{}}
	remaining.Labels, remaining.Annotations = from.Labels, from.Annotations
	for i := range min(len(from.Spec.Containers), len(remaining.Spec.Containers)) {
		before, after := &from.Spec.Containers[i], &remaining.Spec.Containers[i]
		if before.Name != after.Name {
			break
		}
		if before.Image != after.Image {
			diff.Images[after.Name] = after.Image
			after.Image = before.Image
		}
		if isResizable(before.Resources, after.Resources) {
			diff.Resources[after.Name] = withDefaults(after.Resources)
			after.Resources = before.Resources
		}
	}
	if before, after := from.Spec.Resources, remaining.Spec.Resources; before != nil && after != nil && isPodResizable(*before, *after) {
		diff.Resources[OfPod] = *after.DeepCopy()
		remaining.Spec.Resources = before
	}
	return diff
}

// checksumPrefix is the prefix of annotations that change in order to restart the pods. Many charts have one for a ConfigMap.
const checksumPrefix = "checksum/"

// restartNeeded returns why the containers have to restart although the kubelet would not restart them: something that they were started with has
// changed. A container that gets another image restarts anyway.
func restartNeeded(from, to *corev1.PodTemplateSpec, diff Diff) string {
	for _, key := range changedKeys(from.Annotations, to.Annotations) {
		if strings.HasPrefix(key, checksumPrefix) {
			return fmt.Sprintf("the annotation %s has changed, which asks for a restart", key)
		}
	}
	changed := map[string]string{}
	for _, key := range changedKeys(from.Labels, to.Labels) {
		changed[fmt.Sprintf("metadata.labels['%s']", key)] = "the label " + key
	}
	for _, key := range changedKeys(from.Annotations, to.Annotations) {
		changed[fmt.Sprintf("metadata.annotations['%s']", key)] = "the annotation " + key
	}
	for _, container := range to.Spec.Containers {
		for _, env := range container.Env {
			if env.ValueFrom == nil || env.ValueFrom.FieldRef == nil || diff.Images[container.Name] != "" {
				continue
			}
			if what, found := changed[env.ValueFrom.FieldRef.FieldPath]; found {
				return fmt.Sprintf("container %s reads %s into its environment, which only a restart updates", container.Name, what)
			}
		}
	}
	return ""
}

// changedKeys returns the keys whose values differ, sorted.
func changedKeys(from, to map[string]string) []string {
	all := maps.Clone(from)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, to)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(key string) bool {
		before, had := from[key]
		after, has := to[key]
		return had == has && before == after
	})
}

// firstDifference returns the path of the first field that differs.
func firstDifference(from, to *corev1.PodTemplateSpec) string {
	decode := func(template *corev1.PodTemplateSpec) (value any) {
		_ = json.Unmarshal(history.Encode(template), &value) // data from Encode always decodes
		return value
	}
	return pathOfDifference("template", decode(from), decode(to))
}

// pathOfDifference returns the path of the first field that differs between two different JSON values.
func pathOfDifference(path string, from, to any) string {
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
				return pathOfDifference(path+"."+key, from[key], to[key])
			}
		}
	case []any:
		to, ok := to.([]any)
		if !ok || len(from) != len(to) {
			return path
		}
		for i := range from {
			if !reflect.DeepEqual(from[i], to[i]) {
				return pathOfDifference(path+"["+strconv.Itoa(i)+"]", from[i], to[i])
			}
		}
	}
	return path
}

// NeedsKubelet reports whether the kubelet has work to do. Changes of labels and annotations do not concern it.
func (d Diff) NeedsKubelet() bool { return len(d.Images)+len(d.Resources) > 0 }
