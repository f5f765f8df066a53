package nodes

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Import adds an existing pod in the state that its status shows. outdated has, by name, the containers as they still run if the kubelet has yet to
// restart them for an update.
func (n *Nodes) Import(p *corev1.Pod, outdated map[string]corev1.Container) *State {
	state := n.Add(p)
	p.Generation = max(1, p.Generation) // an API server before Kubernetes 1.33 does not set it
	if p.Spec.NodeName == "" || p.Status.StartTime == nil && p.Status.Phase == corev1.PodPending {
		return state // no kubelet has seen it yet
	}
	state.Observed = cmp.Or(p.Status.ObservedGeneration, p.Generation)
	state.Applied, state.startedAt, state.observedAt = state.Observed, p.CreationTimestamp.Time, n.Now
	state.readyAt = serverTime(p, readySince(p).Time)
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

// isStarted reports whether a container was ever started.
func isStarted(status *corev1.ContainerStatus) bool {
	return status.State.Waiting == nil || status.RestartCount > 0 || status.LastTerminationState.Terminated != nil
}

// inOrder returns the statuses of containers in the order of the spec. A kubelet sorts them by name, and may not have written all of them.
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
		if list[i].State == (corev1.ContainerState{}) { // the API defines this as waiting
			list[i].State = waitingFor("ContainerCreating")
		}
	}
	return list
}

// readySince returns when the pod became ready, or when it was created if it is not ready.
func readySince(p *corev1.Pod) metav1.Time {
	if IsReady(p) {
		return Condition(p, corev1.PodReady).LastTransitionTime
	}
	return p.CreationTimestamp
}

// serverTime converts a time that a kubelet has written to the API server's clock, as far as the pod shows that its node's clock is wrong.
func serverTime(p *corev1.Pod, written time.Time) time.Time {
	if bound := Condition(p, corev1.PodScheduled); bound != nil && p.Status.StartTime != nil && p.Status.StartTime.Before(&bound.LastTransitionTime) {
		written = written.Add(bound.LastTransitionTime.Sub(p.Status.StartTime.Time))
	}
	for _, entry := range p.ManagedFields {
		if entry.Manager == "kubelet" && entry.Time != nil {
			written = earlier(written, entry.Time.Time)
		}
	}
	return written
}
