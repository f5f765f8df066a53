package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// badImage is that of a container which never runs for long.
const badImage = "bad"

// onItsNode is what a pod's node knows.
type onItsNode struct {
	// image, resources and generation are those that it has carried out.
	image      string
	resources  corev1.ResourceRequirements
	generation int64
	// changed is when the pod was last changed in place.
	changed time.Time
	// guilty tells that the pod has failed by itself, or takes the place of one that has.
	guilty bool
	// byHand tells that somebody else has made the pod: it need not be what the template says.
	byHand bool
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
	behind := w.isBehind(p) && !w.isDelayed(p)
	if w.oldNodes { // where nothing is restarted, or that is not known, nobody can tell; nor where a change was taken back that may have come
		behind = w.restarts(p) && !node.byHand && !inPlaceRecord(p).Containers[p.Spec.Containers[0].Name].Optional
	}
	if p.DeletionTimestamp != nil || hasEnded(p) || !isReady(p) || isDrained(p) || behind {
		return false
	}
	since := readySince(p)
	if node.changed.After(since) && !w.isDelayed(p) {
		since = node.changed
	}
	return w.manager.MinReady() == 0 || !w.now.Before(since.Add(w.manager.MinReady()))
}

// isBehind tells whether the pod's node has not carried out its spec.
func (w *world) isBehind(p *corev1.Pod) bool {
	return w.nodes[p.UID].generation < p.Generation || condition(p, corev1.PodResizePending) != nil ||
		condition(p, corev1.PodResizeInProgress) != nil
}

// isDelayed tells whether the pod's node has seen the spec, and cannot give the CPU or memory: the pod runs on as it was.
func (w *world) isDelayed(p *corev1.Pod) bool {
	pending, progress := condition(p, corev1.PodResizePending), condition(p, corev1.PodResizeInProgress)
	return w.nodes[p.UID].generation == p.Generation && (pending != nil || progress != nil && progress.Reason == corev1.PodReasonError)
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

// restarts tells whether the node has to restart the container to give it what it is to have: another image, or another amount
// of what its resizePolicy says.
func (w *world) restarts(p *corev1.Pod) bool {
	node, container := w.nodes[p.UID], &p.Spec.Containers[0]
	return container.Image != node.image || slices.ContainsFunc(container.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		before, after := node.resources.Requests[policy.ResourceName], container.Resources.Requests[policy.ResourceName]
		return policy.RestartPolicy == corev1.RestartContainer && before.Cmp(after) != 0
	})
}

// imageID is that of an image. Two names may stand for one.
func imageID(image string) string {
	if image == "app:5" {
		image = "app:1"
	}
	return "id of " + image
}

// start runs a pod on a node, unless that will not have it.
func (w *world) start(p *corev1.Pod) {
	p.Spec.NodeName = "node-" + string(rune('a'+w.IntN(5)))
	if w.fails(0.05) {
		w.say("  %s is not admitted", p.Name)
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, pick(w, "OutOfcpu", "NodeAffinity", "NodeShutdown", "UnexpectedAdmissionError")
		return
	}
	image := p.Spec.Containers[0].Image
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: p.Spec.Containers[0].Name, Image: w.spelled(image), ImageID: imageID(image), State: running(w),
	}}
	w.carriedOut(p)
	w.nodes[p.UID].resources = p.Spec.Containers[0].Resources
}

// spelled is the name of an image as the runtime has it.
func (w *world) spelled(image string) string { return "docker.io/library/" + image }

// carriedOut notes that the node has seen the pod's spec and done what it could.
func (w *world) carriedOut(p *corev1.Pod) {
	w.nodes[p.UID].image, w.nodes[p.UID].generation = p.Spec.Containers[0].Image, p.Generation
	if !w.oldNodes {
		p.Status.ObservedGeneration = p.Generation
	}
}

// carryOut follows a change of the pod's spec.
func (w *world) carryOut(p *corev1.Pod) {
	node, container := w.nodes[p.UID], &p.Spec.Containers[0]
	if node.generation == p.Generation && w.fails(0.5) {
		return
	}
	restart := w.restarts(p)
	// Old nodes get what they are given at once: until they say so nobody can tell.
	if resized := !equality.Semantic.DeepEqual(node.resources, container.Resources); resized && !w.oldNodes && w.fails(0.6) {
		w.delayResize(p)
		restart = container.Image != node.image
	} else {
		dropCondition(p, corev1.PodResizePending)
		dropCondition(p, corev1.PodResizeInProgress)
		node.resources = container.Resources
	}
	if restart {
		w.restart(p)
	}
	w.carriedOut(p)
}

// restart starts the container anew, as the pod's spec has it.
func (w *world) restart(p *corev1.Pod) {
	image, status := p.Spec.Containers[0].Image, &p.Status.ContainerStatuses[0]
	status.RestartCount++
	status.Image, status.ImageID = w.spelled(image), imageID(image)
	status.State = running(w)
	status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: w.stamp()}
	if image == badImage || w.chance(0.5) {
		w.setReady(p, false)
	}
}

// delayResize makes a pod wait for its CPU and memory.
func (w *world) delayResize(p *corev1.Pod) {
	dropCondition(p, corev1.PodResizePending)
	dropCondition(p, corev1.PodResizeInProgress)
	delay := pick(w,
		corev1.PodCondition{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible},
		corev1.PodCondition{Type: corev1.PodResizePending, Reason: corev1.PodReasonDeferred},
		corev1.PodCondition{Type: corev1.PodResizeInProgress},
		corev1.PodCondition{Type: corev1.PodResizeInProgress, Reason: corev1.PodReasonError})
	w.say("  resize of %s: %s %s", p.Name, delay.Type, delay.Reason)
	delay.Status, delay.LastTransitionTime = corev1.ConditionTrue, w.stamp()
	setCondition(p, delay)
}

// evict ends the pod for a reason that is its node's.
func (w *world) evict(p *corev1.Pod) {
	p.Status.Phase = corev1.PodFailed
	w.setReady(p, false)
	p.Status.Reason = pick(w, "", "Evicted", "Terminated", "Preempting")
	if p.Status.Reason == "" || w.chance(0.5) {
		setCondition(p, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: w.stamp()})
	}
	for i := range p.Status.ContainerStatuses {
		p.Status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 137, FinishedAt: w.stamp()}}
	}
}

// crash ends the pod's container, which its node starts again.
func (w *world) crash(p *corev1.Pod) {
	if w.oldNodes && w.isBehind(p) { // it is started again with what it is to have
		w.carryOut(p)
	}
	w.nodes[p.UID].guilty = true
	status := &p.Status.ContainerStatuses[0]
	status.RestartCount++
	status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1, FinishedAt: w.stamp()}
	status.State = waiting("CrashLoopBackOff", "back-off")
	w.setReady(p, false)
}

// end ends the pod for good.
func (w *world) end(p *corev1.Pod) {
	w.nodes[p.UID].guilty = true
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
