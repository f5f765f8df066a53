package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// badImage is that of a container which never runs for long.
const badImage = "bad"

// onItsNode is what a pod's node knows.
type onItsNode struct {
	// image and generation are those that it has carried out.
	image      string
	generation int64
	// changed is when the pod was last changed in place.
	changed time.Time
}

func setCondition(p *corev1.Pod, c corev1.PodCondition) {
	if found := condition(p, c.Type); found != nil {
		if found.Status == c.Status {
			c.LastTransitionTime = found.LastTransitionTime
		}
		*found = c
		return
	}
	p.Status.Conditions = append(p.Status.Conditions, c)
}

func dropCondition(p *corev1.Pod, kind corev1.PodConditionType) {
	var kept []corev1.PodCondition
	for _, c := range p.Status.Conditions {
		if c.Type != kind {
			kept = append(kept, c)
		}
	}
	p.Status.Conditions = kept
}

func (w *world) setReady(p *corev1.Pod, ready bool) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	setCondition(p, corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: w.stamp()})
}

// isServing tells whether a pod is available, from what its node knows: that it has been ready for long enough, since it
// was last changed.
func (w *world) isServing(p *corev1.Pod) bool {
	node := w.nodes[p.UID]
	if p.DeletionTimestamp != nil || hasEnded(p) || !isReady(p) || isDrained(p) || w.isBehind(p) {
		return false
	}
	since := readySince(p)
	if node.changed.After(since) {
		since = node.changed
	}
	return w.manager.MinReady() == 0 || !w.now.Before(since.Add(w.manager.MinReady()))
}

// isBehind tells whether the pod's node has not carried out its spec.
func (w *world) isBehind(p *corev1.Pod) bool {
	return w.nodes[p.UID].generation < p.Generation || condition(p, corev1.PodResizePending) != nil ||
		condition(p, corev1.PodResizeInProgress) != nil
}

// next is what a pod's node will do next about it; nil if that is nothing.
func (w *world) next(p *corev1.Pod) func() {
	switch {
	case p.DeletionTimestamp != nil:
		return func() { w.forget(p) }
	case hasEnded(p):
		return nil
	case p.Spec.NodeName == "":
		return func() { w.start(p) }
	case w.isBehind(p):
		return func() { w.carryOut(p) }
	case p.Status.ContainerStatuses[0].State.Running == nil:
		if w.calm && w.nodes[p.UID].image == badImage {
			return nil // it could go on like this for ever
		}
		return func() { p.Status.ContainerStatuses[0].State = running(w) }
	case w.nodes[p.UID].image == badImage:
		return func() { w.crash(p) }
	case isReady(p) != w.mayServe(p):
		return func() { w.setReady(p, !isReady(p)) }
	default:
		return nil
	}
}

// mayServe tells whether all readiness gates are open.
func (w *world) mayServe(p *corev1.Pod) bool {
	for _, gate := range p.Spec.ReadinessGates {
		if found := condition(p, gate.ConditionType); found == nil || found.Status != corev1.ConditionTrue {
			return false
		}
	}
	return true
}

func running(w *world) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: w.stamp()}}
}

// start runs a pod on a node.
func (w *world) start(p *corev1.Pod) {
	image := p.Spec.Containers[0].Image
	p.Spec.NodeName = "node-" + string(rune('a'+w.IntN(5)))
	p.Status.Phase = corev1.PodRunning
	p.Status.ObservedGeneration = p.Generation
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: p.Spec.Containers[0].Name, Image: image, ImageID: "id of " + image, State: running(w),
	}}
	w.nodes[p.UID].image, w.nodes[p.UID].generation = image, p.Generation
}

// carryOut follows a change of the pod's spec. A container that gets another image is restarted.
func (w *world) carryOut(p *corev1.Pod) {
	node, image := w.nodes[p.UID], p.Spec.Containers[0].Image
	if node.generation == p.Generation && w.fails(0.5) {
		return
	}
	if image == node.image && node.generation < p.Generation && w.fails(0.6) {
		w.delayResize(p)
	} else {
		dropCondition(p, corev1.PodResizePending)
		dropCondition(p, corev1.PodResizeInProgress)
	}
	if image != node.image {
		status := &p.Status.ContainerStatuses[0]
		status.RestartCount++
		status.ImageID = "id of " + image
		if w.chance(0.5) {
			status.Image = "docker.io/library/" + image // runtimes have their own way
		} else {
			status.Image = image
		}
		status.State = running(w)
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: w.stamp()}
		if image == badImage || w.chance(0.5) {
			w.setReady(p, false)
		}
	}
	node.image, node.generation = image, p.Generation
	p.Status.ObservedGeneration = p.Generation
}

// delayResize makes a pod wait for its CPU and memory.
func (w *world) delayResize(p *corev1.Pod) {
	kind, reason := corev1.PodResizePending, corev1.PodReasonInfeasible
	switch w.IntN(3) {
	case 0:
		reason = corev1.PodReasonDeferred
	case 1:
		kind, reason = corev1.PodResizeInProgress, ""
	}
	if kind == corev1.PodResizePending && reason == corev1.PodReasonInfeasible {
		w.say("  resize of %s is infeasible", p.Name)
	}
	setCondition(p, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: w.stamp()})
}

// crash ends the pod's container, which its node starts again.
func (w *world) crash(p *corev1.Pod) {
	status := &p.Status.ContainerStatuses[0]
	status.RestartCount++
	status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1, FinishedAt: w.stamp()}
	status.State = waiting("CrashLoopBackOff", "back-off")
	w.setReady(p, false)
}

// end ends the pod for good.
func (w *world) end(p *corev1.Pod) {
	p.Status.Phase = corev1.PodFailed
	w.setReady(p, false)
	for i := range p.Status.ContainerStatuses {
		p.Status.ContainerStatuses[i].State = corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1, FinishedAt: metav1.NewTime(w.stamp().Time)},
		}
	}
}

// isOurs tells whether the pod is in the PodManager's care.
func (w *world) isOurs(p *corev1.Pod) bool {
	return p.Labels[v1.LabelManager] == w.manager.Name && metav1.IsControlledBy(p, w.manager)
}
