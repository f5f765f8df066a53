package world

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// kubeletIsBehind tells whether the kubelet has not carried out all of the pod's spec.
func (w *World) kubeletIsBehind(p *corev1.Pod) bool {
	return w.hidden[p.UID].applied < p.Generation || conditionOf(p, corev1.PodResizePending) != nil ||
		conditionOf(p, corev1.PodResizeInProgress) != nil
}

// isResizeDelayed tells whether the kubelet has applied the spec but cannot resize the pod: the pod runs on with its old resources.
func (w *World) isResizeDelayed(p *corev1.Pod) bool {
	pending, progress := conditionOf(p, corev1.PodResizePending), conditionOf(p, corev1.PodResizeInProgress)
	return w.hidden[p.UID].applied == p.Generation && (pending != nil || progress != nil && progress.Reason == corev1.PodReasonError)
}

// observeGeneration lets the kubelet see an update of the pod. The kubelet may write the observedGeneration with the old container
// statuses, and apply the update a moment later; it writes only the resize conditions at once.
func (w *World) observeGeneration(p *corev1.Pod) {
	hidden := w.hidden[p.UID]
	hidden.observed = p.Generation
	w.writeObservedGeneration(p)
	if hidden.failedEarly {
		w.blamePod(p)
	}
	restarts := slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return hidden.needsRestart(&c) })
	if w.oldKubelets || !restarts && !w.hasResize(p) || w.chance(0.5) {
		w.applySpec(p)
		return
	}
	w.logf("  %s: its node has seen the change", p.Name)
	if w.hasResize(p) {
		DropCondition(p, corev1.PodResizePending)
		SetCondition(p, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, LastTransitionTime: w.kubeletTime(p)})
	} else {
		DropCondition(p, corev1.PodResizePending)
		DropCondition(p, corev1.PodResizeInProgress)
	}
}

// hasResize tells whether the spec of a container has other resources than the container was started with or resized to.
func (w *World) hasResize(p *corev1.Pod) bool {
	for i := range p.Spec.Containers {
		last, found := w.hidden[p.UID].starts[p.Spec.Containers[i].Name]
		if found && !equality.Semantic.DeepEqual(last.resources, p.Spec.Containers[i].Resources) {
			return true
		}
	}
	return false
}

// needsRestart tells whether the kubelet has to restart a running container to apply its spec: for another image, or for a resize with the
// resizePolicy RestartContainer.
func (h *hiddenState) needsRestart(c *corev1.Container) bool {
	last, found := h.starts[c.Name]
	return found && (c.Image != last.image || needsRestartToResize(last.resources, c))
}

func needsRestartToResize(had corev1.ResourceRequirements, c *corev1.Container) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		before, after := had.Requests[policy.ResourceName], c.Resources.Requests[policy.ResourceName]
		return policy.RestartPolicy == corev1.RestartContainer && before.Cmp(after) != 0
	})
}

// applySpec lets the kubelet apply an update of the pod's spec that it has seen.
func (w *World) applySpec(p *corev1.Pod) {
	hidden := w.hidden[p.UID]
	if hidden.applied == p.Generation && w.fails(0.5) {
		return
	}
	hidden.applied = p.Generation
	// Old kubelets resize at once: the planner could not tell a delay.
	isDelayed := w.hasResize(p) && !w.oldKubelets && w.fails(0.6)
	DropCondition(p, corev1.PodResizePending)
	DropCondition(p, corev1.PodResizeInProgress)
	if isDelayed {
		w.delayResize(p)
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		last, found := hidden.starts[c.Name]
		if !found {
			if status := &p.Status.ContainerStatuses[i]; isInBackOff(status) {
				w.startContainer(p, status)
			}
			continue
		}
		restarts := c.Image != last.image || !isDelayed && needsRestartToResize(last.resources, c)
		if !isDelayed {
			last.resources = c.Resources
			hidden.starts[c.Name] = last
		}
		if restarts {
			w.restartContainer(p, &p.Status.ContainerStatuses[i])
		}
	}
}

// restartContainer restarts a container according to the pod's spec.
func (w *World) restartContainer(p *corev1.Pod, status *corev1.ContainerStatus) {
	if status.State.Running != nil {
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			Reason: "Error", ExitCode: pick[int32](w, 0, 137, 143), FinishedAt: w.kubeletTime(p),
		}
	}
	isRunning := status.State.Running != nil
	w.startContainer(p, status)
	if status.State.Running == nil || isRunning && w.chance(0.5) || w.quality(w.nextImageOf(p, status.Name)) == crashing {
		w.setReady(p, false)
	}
}

// delayResize sets a condition that says why the kubelet does not resize the pod.
func (w *World) delayResize(p *corev1.Pod) {
	delay := pick(w,
		corev1.PodCondition{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible},
		corev1.PodCondition{Type: corev1.PodResizePending, Reason: corev1.PodReasonDeferred},
		corev1.PodCondition{Type: corev1.PodResizeInProgress},
		corev1.PodCondition{Type: corev1.PodResizeInProgress, Reason: corev1.PodReasonError})
	w.logf("  resize of %s: %s %s", p.Name, delay.Type, delay.Reason)
	delay.Status, delay.LastTransitionTime = corev1.ConditionTrue, w.kubeletTime(p)
	SetCondition(p, delay)
}
