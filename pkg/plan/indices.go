package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// freeIndices returns the count lowest indices whose names are not in use.
func freeIndices(o Observed, count int) []int {
	used := usedIndices(o)
	free := make([]int, 0, max(0, count))
	for index := 0; len(free) < count; index++ {
		if used[index] {
			continue
		}
		name := podstate.PodName(o.Manager.Name, index)
		if _, taken := o.Taken[name]; !taken && othersPodNamed(o, name) == nil {
			free = append(free, index)
		}
	}
	return free
}

// othersPodNamed returns the pod of this name, or nil if there is none or the PodManager controls it. A pod that the PodManager controls and that
// is not among the observed pods was created after they were listed. Its name counts as free: creating the pod again fails with AlreadyExists,
// while another index would add one pod too many.
func othersPodNamed(o Observed, name string) *corev1.Pod {
	pod := o.PodNamed(name)
	if pod == nil || metav1.IsControlledBy(pod, o.Manager) {
		return nil
	}
	return pod
}

// foreignNames returns the names that the PodManager had to skip, or will have to skip, because pods of other owners have them.
func foreignNames(o Observed) []string {
	used := usedIndices(o)
	var foreign []string
	// One sync creates at most MaxPerSync pods, while replicas is unlimited.
	next := min(o.Manager.DesiredReplicas(), len(used)+MaxPerSync)
	for index, ours := 0, 0; ours < max(len(used), next); index++ { // ours counts the names that we use or will use
		if used[index] {
			ours++
			continue
		}
		name := podstate.PodName(o.Manager.Name, index)
		pod := othersPodNamed(o, name)
		_, taken := o.Taken[name]
		switch {
		case pod == nil && !taken:
			ours++ // free
		case pod != nil && IsForeign(pod), pod == nil && o.Taken[name]:
			foreign = append(foreign, name)
		}
	}
	return foreign
}

// IsForeign reports whether a pod of another owner that has one of our names is worth a warning. Terminating pods and pods that a PodManager
// created are not.
func IsForeign(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Labels[v1.LabelRevision] == ""
}

// usedIndices returns the indices of our own pods and of orphans, which may be adopted.
func usedIndices(o Observed) map[int]bool {
	used := make(map[int]bool, len(o.Pods)+len(o.Orphans))
	for _, pod := range slices.Concat(o.Pods, o.Orphans) {
		if index := podstate.IndexOf(o.Manager.Name, pod.Name); index >= 0 {
			used[index] = true
		}
	}
	return used
}
