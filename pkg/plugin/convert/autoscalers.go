package convert

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// isAutoscaler reports whether an object is a HorizontalPodAutoscaler. A file may have some beside the objects that they scale.
func isAutoscaler(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind()
	return kind.Group == "autoscaling" && kind.Kind == "HorizontalPodAutoscaler"
}

// scales reports whether an autoscaler from a file scales an object from the same file.
func scales(autoscaler, object *unstructured.Unstructured) bool {
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(autoscaler.Object, "spec", "scaleTargetRef", name)
		return value
	}
	if field("kind") != object.GetKind() || field("name") != object.GetName() || object.GetName() == "" {
		return false
	}
	if version := field("apiVersion"); version != "" {
		group, err := schema.ParseGroupVersion(version)
		if err != nil || !slices.Contains(find(object.GroupVersionKind().GroupKind()).groups, group.Group) {
			return false
		}
	}
	// A namespace that is missing in a file comes from kubectl's flags, so it may be the same.
	return autoscaler.GetNamespace() == object.GetNamespace() || autoscaler.GetNamespace() == "" || object.GetNamespace() == ""
}

// autoscalersOf returns the names of the autoscalers that scale an object: those of the same file, and the live ones.
func autoscalersOf(object *unstructured.Unstructured, o Options) []string {
	var names []string
	for _, autoscaler := range o.Autoscalers {
		if scales(autoscaler, object) {
			names = append(names, text.OneLine(autoscaler.GetName()))
		}
	}
	if o.Live != nil {
		names = append(names, o.Live.Autoscalers...)
	}
	return names
}

// leaveReplicas leaves the number of pods to the autoscalers. With a number in the manifest, each kubectl apply would undo what they have set.
func (c *conversion) leaveReplicas(autoscalers []string) {
	delete(c.spec, "replicas")
	c.note("spec.replicas: is left out, because HorizontalPodAutoscaler %s sets it, and each kubectl apply would undo that; a new PodManager begins with %d pods",
		strings.Join(autoscalers, ", "), v1.DefaultReplicas)
}

// retarget returns what to do about an autoscaler of the same file.
func (c *conversion) retarget(autoscaler string) string {
	return fmt.Sprintf("HorizontalPodAutoscaler %s scales it: its scaleTargetRef has to name PodManager %s (apiVersion %s)",
		autoscaler, c.name, v1.GroupVersionKind.GroupVersion())
}
