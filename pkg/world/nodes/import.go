package nodes

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Import adds a pod that exists, in the state that its status tells. outdated are containers as they still run, by name, if the kubelet has
// yet to restart them for an update.
func (n *Nodes) Import(p *corev1.Pod, outdated map[string]corev1.Container) *State {
	state := n.Add(p)
	p.Generation = max(1, p.Generation) // an API server before Kubernetes 1.33 counts none
	if p.Spec.NodeName == "" || p.Status.StartTime == nil && p.Status.Phase == corev1.PodPending {
		return state // no kubelet has seen it yet
	}
	state.Observed = cmp.Or(p.Status.ObservedGeneration, p.Generation)
	state.Applied, state.startedAt, state.observedAt = state.Observed, p.CreationTimestamp.Time, n.Now
	if len(outdated) > 0 {
		state.Applied = min(state.Applied, p.Generation-1)
	}
	p.Status.InitContainerStatuses = inOrder(p, p.Spec.InitContainers, p.Status.InitContainerStatuses)
	p.Status.ContainerStatuses = inOrder(p, p.Spec.Containers, p.Status.ContainerStatuses)
	for status, c := range containersOf(p) {
		if running := status.State.Running; running != nil && running.StartedAt.After(state.startedAt) {
			state.startedAt = running.StartedAt.Time
		}
		runs := *c
		if old, found := outdated[c.Name]; found {
			runs = old
		}
		if isStarted(status) {
			state.starts[c.Name] = containerStart{image: runs.Image, resources: runs.Resources}
		}
	}
	return state
}

// isStarted tells whether a container was ever started.
func isStarted(status *corev1.ContainerStatus) bool {
	return status.State.Waiting == nil || status.RestartCount > 0 || status.LastTerminationState.Terminated != nil
}

// inOrder are the statuses of containers in the order of the spec. A kubelet sorts them by name, and may not have written all of them.
func inOrder(p *corev1.Pod, containers []corev1.Container, statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	list := waitingStatuses(containers, p)
	for i := range list {
		if p.Status.Phase == corev1.PodRunning {
			list[i].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: readySince(p)}}
		}
		for _, status := range statuses {
			if status.Name == list[i].Name {
				list[i] = status
			}
		}
		if list[i].State == (corev1.ContainerState{}) { // which the API reads as waiting
			list[i].State = waitingFor("ContainerCreating")
		}
	}
	return list
}

// readySince is when the pod became ready, or was created if it is not.
func readySince(p *corev1.Pod) metav1.Time {
	if IsReady(p) {
		return Condition(p, corev1.PodReady).LastTransitionTime
	}
	return p.CreationTimestamp
}
