package nodes

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/mycompany/podmanager/pkg/world/dice"
)

// IsBehind reports whether the kubelet has not completely carried out the pod's spec.
func (n *Nodes) IsBehind(p *corev1.Pod) bool {
	return n.states[p.UID].Applied < p.Generation || Condition(p, corev1.PodResizePending) != nil ||
		Condition(p, corev1.PodResizeInProgress) != nil
}

// IsResizeDelayed reports whether the kubelet has applied the spec but cannot resize the pod, so that the pod continues to run with its old
// resources.
func (n *Nodes) IsResizeDelayed(p *corev1.Pod) bool {
	pending, progress := Condition(p, corev1.PodResizePending), Condition(p, corev1.PodResizeInProgress)
	return n.states[p.UID].Applied == p.Generation && (pending != nil || progress != nil && progress.Reason == corev1.PodReasonError)
}

// observeGeneration makes the kubelet see an update of the pod. The kubelet may write the observedGeneration with the old container statuses, and
// apply the update a moment later. It writes only the resize conditions at once, and sometimes not even these.
func (n *Nodes) observeGeneration(p *corev1.Pod) {
	state := n.states[p.UID]
	state.Observed, state.observedAt = p.Generation, n.Now
	n.writeObservedGeneration(p)
	n.Observed(p)
	restarts := slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return state.NeedsRestart(&c) })
	if n.OldKubelets || !restarts && !n.HasResize(p) || n.dice.Chance(0.5) {
		n.applySpec(p)
		return
	}
	n.logf("  %s: its node has seen the change", p.Name)
	state.IsSilent = n.HasResize(p) && n.fails(0.3)
	if n.HasResize(p) && !state.IsSilent {
		DropCondition(p, corev1.PodResizePending)
		SetCondition(p, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, LastTransitionTime: n.kubeletTime(p)})
	} else {
		DropCondition(p, corev1.PodResizePending)
		DropCondition(p, corev1.PodResizeInProgress)
	}
}

// HasResize reports whether the resources in a container's spec differ from those that it was started with or resized to.
func (n *Nodes) HasResize(p *corev1.Pod) bool {
	for i := range p.Spec.Containers {
		last, found := n.states[p.UID].starts[p.Spec.Containers[i].Name]
		if found && !equality.Semantic.DeepEqual(last.resources, p.Spec.Containers[i].Resources) {
			return true
		}
	}
	return false
}

// NeedsRestart reports whether the kubelet has to restart a running container to apply its spec: for another image, or for a resize with the
// resizePolicy RestartContainer.
func (s *State) NeedsRestart(c *corev1.Container) bool {
	last, found := s.starts[c.Name]
	return s.HasOtherImage(c) || found && needsRestartToResize(last.resources, c)
}

// HasOtherImage reports whether the image of a running container differs from its spec.
func (s *State) HasOtherImage(c *corev1.Container) bool {
	last, found := s.starts[c.Name]
	return found && c.Image != last.image
}

func needsRestartToResize(had corev1.ResourceRequirements, c *corev1.Container) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		before, after := had.Requests[policy.ResourceName], c.Resources.Requests[policy.ResourceName]
		return policy.RestartPolicy == corev1.RestartContainer && before.Cmp(after) != 0
	})
}

// applySpec makes the kubelet apply an update of the pod's spec that it has seen.
func (n *Nodes) applySpec(p *corev1.Pod) {
	state := n.states[p.UID]
	if state.Applied == p.Generation && n.fails(0.5) {
		return
	}
	state.Applied, state.IsSilent = p.Generation, false
	// Old kubelets resize at once, because the planner could not detect a delay.
	isDelayed := n.HasResize(p) && !n.OldKubelets && n.fails(0.6)
	DropCondition(p, corev1.PodResizePending)
	DropCondition(p, corev1.PodResizeInProgress)
	if isDelayed {
		n.delayResize(p)
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		last, found := state.starts[c.Name]
		if !found {
			if status := &p.Status.ContainerStatuses[i]; isInBackOff(status) {
				n.startContainer(p, status)
			}
			continue
		}
		restarts := c.Image != last.image || !isDelayed && needsRestartToResize(last.resources, c)
		if !isDelayed {
			last.resources = c.Resources
			state.starts[c.Name] = last
			n.writeResources(&p.Status.ContainerStatuses[i], c.Resources)
		}
		if restarts {
			n.restartContainer(p, &p.Status.ContainerStatuses[i])
		}
	}
}

// restartContainer restarts a container according to the pod's spec.
func (n *Nodes) restartContainer(p *corev1.Pod, status *corev1.ContainerStatus) {
	if status.State.Running != nil {
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			Reason: "Error", ExitCode: dice.Pick[int32](n.dice, 0, 137, 143), FinishedAt: n.kubeletTime(p),
		}
	}
	isRunning := status.State.Running != nil
	n.startContainer(p, status)
	n.noteRestart(p, status)
	if status.State.Running == nil || isRunning && (n.course != nil || n.dice.Chance(0.5)) ||
		n.qualityOf(p, n.nextImageOf(p, status.Name)) == Crashing {
		n.SetReady(p, false)
	}
}

// delayResize sets a condition that explains why the kubelet does not resize the pod.
func (n *Nodes) delayResize(p *corev1.Pod) {
	delay := dice.Pick(n.dice,
		corev1.PodCondition{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible},
		corev1.PodCondition{Type: corev1.PodResizePending, Reason: corev1.PodReasonDeferred},
		corev1.PodCondition{Type: corev1.PodResizeInProgress},
		corev1.PodCondition{Type: corev1.PodResizeInProgress, Reason: corev1.PodReasonError})
	n.logf("  resize of %s: %s %s", p.Name, delay.Type, delay.Reason)
	delay.Status, delay.LastTransitionTime = corev1.ConditionTrue, n.kubeletTime(p)
	SetCondition(p, delay)
}
