package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/pkg/world/dice"
)

// Course is a course of events without randomness: each step of a pod has its time.
type Course struct {
	// ReadyAfter is how long containers take from their start until they are ready, or crash instead.
	ReadyAfter time.Duration
	// StopAfter is how long containers take to stop, see StopTime.
	StopAfter time.Duration
	// NodeFor chooses the node of a pod. It returns empty if no node takes the pod now. Unplaced is the scheduler's message in that case.
	NodeFor  func(*corev1.Pod) string
	Unplaced string
	// Quality returns how the containers that were started last in a pod behave.
	Quality func(*corev1.Pod) Quality
}

// UpdateTime is how long a kubelet takes to carry out an update in place, in addition to the time that the containers take to stop and to start.
const UpdateTime = time.Second

// Follow returns nodes without pods, in calm, that follow a course of events.
func Follow(course Course, now time.Time, oldKubelets bool) *Nodes {
	n := New(dice.Dice{}, now, oldKubelets)
	n.course, n.Calm = &course, true
	return n
}

// Due returns when the next step of a pod that is not terminating happens, or false if there is none.
func (n *Nodes) Due(p *corev1.Pod) (time.Time, bool) {
	state := n.states[p.UID]
	switch {
	case n.Next(p) == nil, n.isUnplaced(p) && n.course.NodeFor(p) == "":
		return time.Time{}, false
	case p.Spec.NodeName == "" || state.Observed < p.Generation || p.Status.Phase == corev1.PodUnknown:
		return n.Now, true
	case n.IsResizeDelayed(p):
		return time.Time{}, false // the delay is from before the start: it is unknown when the node will have capacity
	case n.IsBehind(p):
		return state.observedAt.Add(n.updateTime(p)), true
	case areRunning(p) && !IsReady(p):
		return state.startedAt.Add(n.course.ReadyAfter), true
	default:
		return n.Now, true
	}
}

// isUnplaced reports whether the scheduler has found no node for a pod.
func (n *Nodes) isUnplaced(p *corev1.Pod) bool {
	scheduled := Condition(p, corev1.PodScheduled)
	return p.Spec.NodeName == "" && scheduled != nil && scheduled.Status == corev1.ConditionFalse
}

// leaveUnplaced sets the condition with which the scheduler reports that no node takes a pod.
func (n *Nodes) leaveUnplaced(p *corev1.Pod) {
	SetCondition(p, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: n.course.Unplaced,
		LastTransitionTime: n.serverTime(),
	})
}

// updateTime returns how long the kubelet takes to carry out the update that it has seen.
func (n *Nodes) updateTime(p *corev1.Pod) time.Duration {
	for i := range p.Spec.Containers {
		if n.states[p.UID].NeedsRestart(&p.Spec.Containers[i]) {
			return UpdateTime + n.StopTime(p)
		}
	}
	return UpdateTime
}

// areRunning reports whether all long-running containers of a pod are running.
func areRunning(p *corev1.Pod) bool {
	for status := range longRunningOf(p) {
		if status.State.Running == nil {
			return false
		}
	}
	return p.Status.Phase == corev1.PodRunning
}

// StopTime returns how long the containers of a pod take to stop: the sleep of a preStop hook plus StopAfter, limited to the grace period. If no
// container runs, it returns 0.
func (n *Nodes) StopTime(p *corev1.Pod) time.Duration {
	longest, isRunning := time.Duration(0), false
	for status, c := range longRunningOf(p) {
		isRunning = isRunning || status.State.Running != nil
		if c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep != nil {
			longest = max(longest, time.Duration(c.Lifecycle.PreStop.Sleep.Seconds)*time.Second)
		}
	}
	if !isRunning {
		return 0
	}
	return min(longest+n.course.StopAfter, GracePeriod(p))
}

// GracePeriod returns how long the containers of a pod may take to stop.
func GracePeriod(p *corev1.Pod) time.Duration {
	return time.Duration(ptr.Deref(p.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)) * time.Second
}
