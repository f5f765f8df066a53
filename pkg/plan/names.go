package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// freeIndices are the count lowest indices that none of our pods has, nor anybody else's.
func freeIndices(o Observed, count int) []int {
	used := usedIndices(o)
	free := make([]int, 0, max(0, count))
	for index := 0; len(free) < count; index++ {
		name := podstate.PodName(o.Manager.Name, index)
		if _, taken := o.Taken[name]; !used[index] && !taken && strangerNamed(o, name) == nil {
			free = append(free, index)
		}
	}
	return free
}

// strangerNamed is the pod of this name if it is not ours. One that is ours and not among the observed pods has come
// since they were looked at. Its name counts as free: creating it again is how we find out, while another index would
// make one pod too many.
func strangerNamed(o Observed, name string) *corev1.Pod {
	pod := o.PodNamed(name)
	if pod == nil || metav1.IsControlledBy(pod, o.Manager) {
		return nil
	}
	return pod
}

// foreignNames are the names below our highest, or next, that pods of somebody else have.
func foreignNames(o Observed) []string {
	used := usedIndices(o)
	var foreign []string
	// No further than this sync can get: replicas may be any number.
	next := min(o.Manager.DesiredReplicas(), len(used)+MaxPerSync)
	for index, passed := 0, 0; passed < max(len(used), next); index++ {
		if used[index] {
			passed++
			continue
		}
		name := podstate.PodName(o.Manager.Name, index)
		pod := strangerNamed(o, name)
		_, taken := o.Taken[name]
		switch {
		case pod == nil && !taken:
			passed++ // free
		case pod != nil && IsForeign(pod), pod == nil && o.Taken[name]:
			foreign = append(foreign, name)
		}
	}
	return foreign
}

// IsForeign tells whether a pod that is not ours is worth a warning if it has one of our names: one that is on its way out is
// not, nor is one that a PodManager has made.
func IsForeign(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Labels[v1.LabelRevision] == ""
}

// usedIndices are the indices of our own pods, and of those that are about to be.
func usedIndices(o Observed) map[int]bool {
	used := make(map[int]bool, len(o.Pods)+len(o.Orphans))
	for _, pod := range slices.Concat(o.Pods, o.Orphans) {
		if index := podstate.IndexOf(o.Manager.Name, pod.Name); index >= 0 {
			used[index] = true
		}
	}
	return used
}
