package leaving

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// leavingBefore is what the last status says about leaving pods: the causes for which pods left, by name of the pod and of its node.
type leavingBefore struct {
	pods, nodes map[string]v1.LeavingCause
}

// recall reads the last status. The status of a huge PodManager does not name all leaving pods. In that case, all pods on the nodes of the named pods
// count as having been leaving.
func recall(manager *v1.PodManager, active []*corev1.Pod) leavingBefore {
	before, status := leavingBefore{map[string]v1.LeavingCause{}, map[string]v1.LeavingCause{}}, &manager.Status
	for _, pod := range status.LeavingPods {
		before.pods[pod.Name] = pod.Cause
	}
	if int(status.LeavingReplicas) <= len(status.LeavingPods) {
		return before
	}
	for _, pod := range active {
		if cause, found := before.pods[pod.Name]; found {
			before.nodes[pod.Spec.NodeName] = cause
		}
	}
	return before
}

// hasPod reports whether the status names the pod as one that leaves for this cause.
func (b leavingBefore) hasPod(pod *corev1.Pod, cause v1.LeavingCause) bool {
	return b.pods[pod.Name] == cause
}

// has reports whether the pod was leaving its node for this cause.
func (b leavingBefore) has(pod *corev1.Pod, cause v1.LeavingCause) bool {
	return b.hasPod(pod, cause) || b.nodes[pod.Spec.NodeName] == cause
}

// compare sorts pods that were leaving before first, then by index.
func (b leavingBefore) compare(x, y Pod) int {
	_, wasX := b.pods[x.Name]
	_, wasY := b.pods[y.Name]
	return cmp.Or(podstate.FalseFirst(wasY, wasX), podstate.ByIndex(x.Name, y.Name))
}
