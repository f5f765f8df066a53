package snapshot

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// The states of a pod.
const (
	Available   = "Available"
	Ready       = "Ready"
	NotReady    = "NotReady"
	Failing     = "Failing"
	Terminating = "Terminating"
	// Leaving is the state of a pod that still runs, but no longer counts.
	Leaving = "Leaving"
)

// PodState is the state of a pod in one word, with details about a failure or about what the controller is doing to the pod.
type PodState struct {
	Word, Detail string
}

// StateOf returns the state of a pod. The rollout state must belong to the pod's PodManager.
func (s Snapshot) StateOf(pod *corev1.Pod, state *rollout.State) PodState {
	if pod.DeletionTimestamp != nil {
		return PodState{Terminating, s.describeEnd(pod)}
	}
	if podstate.IsFinished(pod) {
		return PodState{string(pod.Status.Phase), health.DescribeFailure([]*corev1.Pod{pod}).Text}
	}
	if leaves := s.Leaving(pod); leaves != nil {
		return PodState{Leaving, leaves.Message}
	}
	wait, inService := health.UntilAvailable(pod, s.Manager.MinReady(), s.Now)
	doing := s.doing(pod)
	switch {
	case slices.Contains(state.FailingPods, pod):
		return PodState{Failing, health.DescribeFailure([]*corev1.Pod{pod}).Text}
	case inService && wait == 0:
		return PodState{Available, doing}
	case inService:
		return PodState{Ready, join(doing, fmt.Sprintf("available in %v", wait.Round(1e9)))}
	default:
		return PodState{NotReady, join(doing, health.Diagnose([]*corev1.Pod{pod}, s.Now).Text)}
	}
}

// doing describes what the controller is doing to an active pod.
func (s Snapshot) doing(pod *corev1.Pod) string {
	switch {
	case podstate.IsMarked(pod):
		return "marked for deletion"
	case podstate.IsDrained(pod) && !inplace.IsUpdating(pod):
		return "draining"
	case inplace.IsInterrupted(pod) || inplace.IsUpdating(pod):
		return "in place"
	case podstate.IsUnmanaged(pod):
		return "adopted, its template is not known"
	default:
		return ""
	}
}

// describeEnd describes when a terminating pod should end. The deletion timestamp marks the end of the grace period.
func (s Snapshot) describeEnd(pod *corev1.Pod) string {
	left := pod.DeletionTimestamp.Sub(s.Now)
	if left < 0 {
		return fmt.Sprintf("should have ended %v ago", -left.Round(1e9))
	}
	return fmt.Sprintf("ends within %v", left.Round(1e9))
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}

// ReadyContainers returns how many of a pod's containers are ready, in the format of kubectl get pods.
func ReadyContainers(pod *corev1.Pod) string {
	ready := 0
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Ready {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d", ready, len(pod.Spec.Containers))
}
