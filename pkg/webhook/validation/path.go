package validation

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// isPath reports whether a text is the path of a pod's field.
func isPath(text string) bool {
	return !strings.ContainsRune(text, ' ') && (isUnder(text, "spec") || isUnder(text, "metadata"))
}

// isUnder reports whether a path is the field or a part of it.
func isUnder(path, field string) bool {
	rest, found := strings.CutPrefix(path, field)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// inManager returns the field of the PodManager that a field of the pod comes from. With the short form, everything but the metadata comes from
// the image. The labels contain the PodManager's name.
func inManager(manager *v1.PodManager, path string) string {
	switch {
	case isUnder(path, "metadata.name"):
		return path
	case manager.Spec.Template != nil:
		return "spec.template." + path
	case isUnder(path, "metadata.annotations"):
		return "spec.restartAt"
	case isUnder(path, "metadata"):
		return "metadata.name"
	default:
		return "spec.image"
	}
}

// fields are the fields of a pod.
type fields map[string]any

func fieldsOf(pod *corev1.Pod) fields {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		return nil // has no fields, so that nothing is refused
	}
	return content
}

// step matches a part of a path: a field's name, or an index or key in brackets.
var step = regexp.MustCompile(`[^.\[\]]+|\[[^\]]*\]`)

// find returns the value at a path. It is nil if the pod does not have the field, for example a required one that is missing. exists is false
// only if the path leads to a list element that does not exist.
func (f fields) find(path string) (value any, exists bool) {
	value = map[string]any(f)
	for _, name := range step.FindAllString(path, -1) {
		key := strings.Trim(name, "[]")
		index, err := strconv.Atoi(key)
		list, isList := value.([]any)
		switch mapped, isMap := value.(map[string]any); {
		case isMap:
			value = mapped[key]
		case isList && err == nil && index >= 0 && index < len(list):
			value = list[index]
		case name[0] == '[' && err == nil: // there is no such element
			return nil, false
		default:
			value = nil
		}
	}
	return value, true
}

// has reports whether the pod has the field, or the object that the field belongs to. An addition by another client, such as a sidecar, is a list
// element that the pod did not have. (If it was inserted before the pod's own elements, the index in the path is off.)
func (f fields) has(path string) bool {
	_, exists := f.find(path)
	return f != nil && exists
}

// breaksDefaultLimit reports whether a request is in conflict with a limit because a LimitRange has added one of the two: the request is above
// the limit, or differs from it although both have to be equal.
func (f fields) breaksDefaultLimit(cause metav1.StatusCause) bool {
	parent, isRequests := strings.CutSuffix(cause.Field, ".requests")
	if !isRequests || !strings.Contains(cause.Message, " limit of ") {
		return false
	}
	found, _ := f.find(parent)
	content, isObject := found.(map[string]any)
	var given corev1.ResourceRequirements
	if !isObject || runtime.DefaultUnstructuredConverter.FromUnstructured(content, &given) != nil {
		return false
	}
	for name, request := range given.Requests {
		limit, isLimited := given.Limits[name]
		mayDiffer := slices.Contains([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}, name)
		if order := request.Cmp(limit); isLimited && (order > 0 || order < 0 && !mayDiffer) {
			return false
		}
	}
	return true
}
