package podstate

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// IsUnmanaged reports whether the pod has no revision label, because the controller did not create it. Such a pod counts as one of the current
// revision.
func IsUnmanaged(pod *corev1.Pod) bool { return pod.Labels[v1.LabelRevision] == "" }

// PodName returns the name of the pod with this index. Names are deterministic, so that the controller can safely repeat a create whose response was
// lost: if the first one succeeded, the API server rejects the second because the name is in use.
func PodName(manager string, index int) string {
	return manager + "-" + strconv.Itoa(index)
}

// IndexOf returns the index in a pod's name, or -1 for a name that PodName does not produce.
func IndexOf(manager, pod string) int {
	digits, found := strings.CutPrefix(pod, manager+"-")
	index, err := strconv.Atoi(digits)
	if !found || err != nil || index < 0 || strconv.Itoa(index) != digits {
		return -1
	}
	return index
}

// Labels returns the template's labels together with the controller's.
func Labels(manager *v1.PodManager, template map[string]string, revision string, index int) map[string]string {
	all := map[string]string{v1.LabelApp: manager.Name}
	maps.Copy(all, template)
	all[v1.LabelManager] = manager.Name
	all[v1.LabelManagerUID] = string(manager.UID)
	all[v1.LabelRevision] = revision
	all[v1.LabelPodIndex] = fmt.Sprint(index)
	return all
}

// Selector selects the pods of the PodManager with this name.
func Selector(name string) labels.Set {
	return labels.Set{v1.LabelManager: name}
}

func ContainerNamed(spec *corev1.PodSpec, name string) *corev1.Container {
	for i := range spec.Containers {
		if spec.Containers[i].Name == name {
			return &spec.Containers[i]
		}
	}
	return nil
}

// ByIndex compares pod names so that web-2 comes before web-10.
func ByIndex(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
