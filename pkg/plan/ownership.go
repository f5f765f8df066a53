package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// Selector selects the pods of the PodManager with this name.
func Selector(name string) labels.Set {
	return labels.Set{v1.LabelManager: name}
}

// KeepOrRelease separates the pods to keep from those to release because somebody has changed their label. A terminating pod is kept:
// it occupies its name and index until it is gone.
func KeepOrRelease(manager *v1.PodManager, pods []*corev1.Pod) (kept, released []*corev1.Pod) {
	for _, pod := range pods {
		if pod.Labels[v1.LabelManager] == manager.Name || pod.DeletionTimestamp != nil {
			kept = append(kept, pod)
		} else {
			released = append(released, pod)
		}
	}
	return kept, released
}

// adoptable are the orphans to adopt. Terminating and finished pods are not worth it: they do not count as replicas.
func adoptable(orphans []*corev1.Pod) []*corev1.Pod {
	active, _, _ := podstate.Split(orphans)
	return active
}
