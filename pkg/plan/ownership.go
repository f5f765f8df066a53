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

// KeepOrRelease tells the pods that are still ours from those that somebody has relabelled away. A pod that is
// terminating is kept: it holds its name and index until it is gone.
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

// adoptable are the orphans worth having: one that is terminating, or has finished, would not count anyway.
func adoptable(orphans []*corev1.Pod) []*corev1.Pod {
	active, _, _ := podstate.Split(orphans)
	return active
}
