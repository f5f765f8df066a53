package world

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// isBehind tells whether the pod's node has not carried out its spec.
func (w *World) isBehind(p *corev1.Pod) bool {
	return w.lives[p.UID].acted < p.Generation || conditionOf(p, corev1.PodResizePending) != nil ||
		conditionOf(p, corev1.PodResizeInProgress) != nil
}

// isDelayed tells whether the pod's node has done all that it can, and cannot give the CPU or memory: the pod runs on as it was.
func (w *World) isDelayed(p *corev1.Pod) bool {
	pending, progress := conditionOf(p, corev1.PodResizePending), conditionOf(p, corev1.PodResizeInProgress)
	return w.lives[p.UID].acted == p.Generation && (pending != nil || progress != nil && progress.Reason == corev1.PodReasonError)
}

// observe lets a node see a change of the pod. It tells so with the statuses of the containers as they are, and acts a moment
// later; only that something is resized is told at once.
func (w *World) observe(p *corev1.Pod) {
	life := w.lives[p.UID]
	life.observed = p.Generation
	w.tellObserved(p)
	if life.early {
		w.fault(p)
	}
	restarts := slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return life.restartsFor(&c) })
	if w.oldNodes || !restarts && !w.isResized(p) || w.chance(0.5) {
		w.act(p)
		return
	}
	w.say("  %s: its node has seen the change", p.Name)
	if w.isResized(p) {
		dropCondition(p, corev1.PodResizePending)
		setCondition(p, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, LastTransitionTime: w.clock(p)})
	} else {
		dropCondition(p, corev1.PodResizePending)
		dropCondition(p, corev1.PodResizeInProgress)
	}
}

// isResized tells whether a container is to have other CPU or memory than it has.
func (w *World) isResized(p *corev1.Pod) bool {
	for i := range p.Spec.Containers {
		last, found := w.lives[p.UID].runs[p.Spec.Containers[i].Name]
		if found && !equality.Semantic.DeepEqual(last.resources, p.Spec.Containers[i].Resources) {
			return true
		}
	}
	return false
}

// restartsFor tells whether the node has to restart a container to give it what it is to have: another image, or another amount
// of what its resizePolicy says. One that was never started has nothing to lose.
func (l *life) restartsFor(c *corev1.Container) bool {
	last, found := l.runs[c.Name]
	return found && (c.Image != last.image || restartsToResize(last.resources, c))
}

func restartsToResize(had corev1.ResourceRequirements, c *corev1.Container) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		before, after := had.Requests[policy.ResourceName], c.Resources.Requests[policy.ResourceName]
		return policy.RestartPolicy == corev1.RestartContainer && before.Cmp(after) != 0
	})
}

// act follows a change of the pod's spec that its node has seen.
func (w *World) act(p *corev1.Pod) {
	life := w.lives[p.UID]
	if life.acted == p.Generation && w.fails(0.5) {
		return
	}
	life.acted = p.Generation
	// Old nodes get what they are given at once: until they say so nobody can tell.
	isDelayed := w.isResized(p) && !w.oldNodes && w.fails(0.6)
	dropCondition(p, corev1.PodResizePending)
	dropCondition(p, corev1.PodResizeInProgress)
	if isDelayed {
		w.delayResize(p)
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		last, found := life.runs[c.Name]
		if !found {
			if status := &p.Status.ContainerStatuses[i]; isInTrouble(status) {
				w.run(p, status)
			}
			continue
		}
		restarts := c.Image != last.image || !isDelayed && restartsToResize(last.resources, c)
		if !isDelayed {
			last.resources = c.Resources
			life.runs[c.Name] = last
		}
		if restarts {
			w.restart(p, &p.Status.ContainerStatuses[i])
		}
	}
}

// restart starts a container anew, as the pod's spec has it.
func (w *World) restart(p *corev1.Pod, status *corev1.ContainerStatus) {
	if status.State.Running != nil {
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			Reason: "Error", ExitCode: pick[int32](w, 0, 137, 143), FinishedAt: w.clock(p),
		}
	}
	isRunning := status.State.Running != nil
	w.run(p, status)
	if status.State.Running == nil || isRunning && w.chance(0.5) || w.quality(w.imageOf(p, status.Name)) == crashing {
		w.setReady(p, false)
	}
}

// delayResize makes a pod wait for its CPU and memory.
func (w *World) delayResize(p *corev1.Pod) {
	delay := pick(w,
		corev1.PodCondition{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible},
		corev1.PodCondition{Type: corev1.PodResizePending, Reason: corev1.PodReasonDeferred},
		corev1.PodCondition{Type: corev1.PodResizeInProgress},
		corev1.PodCondition{Type: corev1.PodResizeInProgress, Reason: corev1.PodReasonError})
	w.say("  resize of %s: %s %s", p.Name, delay.Type, delay.Reason)
	delay.Status, delay.LastTransitionTime = corev1.ConditionTrue, w.clock(p)
	setCondition(p, delay)
}
