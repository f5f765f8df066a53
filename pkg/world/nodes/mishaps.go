package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/world/dice"
)

// Delay stops the pod's progress for a while, and returns until when.
func (n *Nodes) Delay(p *corev1.Pod) time.Time {
	state := n.states[p.UID]
	state.idleUntil = n.Now.Add(time.Duration(n.dice.IntN(900)) * time.Second)
	return state.idleUntil
}

// Crash crashes a running container, and reports whether there was one. It prefers the first container, which may be a sidecar: an update in place
// does not change sidecars.
func (n *Nodes) Crash(p *corev1.Pod) bool {
	var running []*corev1.ContainerStatus
	for status := range longRunningOf(p) {
		if status.State.Running != nil {
			running = append(running, status)
		}
	}
	if len(running) == 0 {
		return false
	}
	status := dice.Pick(n.dice, running...)
	if n.dice.Chance(0.5) {
		status = running[0]
	}
	n.logf("%s: container %s crashes", p.Name, status.Name)
	n.crashContainer(p, status)
	return true
}

// Finish makes the pod fail for good.
func (n *Nodes) Finish(p *corev1.Pod) {
	p.Status.Phase = corev1.PodFailed
	n.SetReady(p, false)
	n.terminateAll(p, 1)
	n.Failed(p)
}

// Exceed makes the pod fail because it has used more storage than its own limit, which is an eviction but not a disruption.
func (n *Nodes) Exceed(p *corev1.Pod) {
	n.Finish(p)
	p.Status.Reason, p.Status.Message = "Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers"
}

// Reboot terminates all containers of a pod together with their node. The kubelet notices that later, and starts them again.
func (n *Nodes) Reboot(p *corev1.Pod) {
	if n.IsBehind(p) {
		return // an update in progress also explains restarts, and cannot be distinguished from a reboot
	}
	for status := range longRunningOf(p) {
		if status.State.Running != nil {
			n.terminateInBackOff(p, status)
			status.LastTerminationState.Terminated.Reason, status.LastTerminationState.Terminated.ExitCode = "Unknown", 255
		}
	}
	n.SetReady(p, false)
}

// Evict makes the pod fail, or succeed, for a reason that lies with its node.
func (n *Nodes) Evict(p *corev1.Pod) {
	p.Status.Phase = corev1.PodFailed
	n.SetReady(p, false)
	p.Status.Reason = dice.Pick(n.dice, "", "Evicted", "Terminated", "Preempting")
	if p.Status.Reason == "" || p.Status.Reason == "Evicted" || n.dice.Chance(0.5) {
		SetCondition(p, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: n.kubeletTime(p)})
	}
	n.terminateAll(p, 137)
	if n.dice.Chance(0.3) {
		// All containers exit with 0: the kubelet loses the reason, but keeps the condition.
		p.Status.Phase, p.Status.Reason = corev1.PodSucceeded, ""
		n.terminateAll(p, 0)
	}
}

func (n *Nodes) terminateAll(p *corev1.Pod, code int32) {
	for status := range longRunningOf(p) {
		status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: code, FinishedAt: n.kubeletTime(p)}}
	}
}

// IsLost reports whether the kubelet of the pod's node is disconnected.
func (n *Nodes) IsLost(p *corev1.Pod) bool { return n.lost[p.Spec.NodeName] }

// Toggle disconnects the kubelet of a node, or reconnects it. The node controller marks the pods of a lost node as not ready, and may evict them:
// Toggle returns the pods to delete.
func (n *Nodes) Toggle(pods []*corev1.Pod) (evicted []*corev1.Pod) {
	node := "node-" + string(rune('a'+n.dice.IntN(5)))
	if n.lost[node] = !n.lost[node]; !n.lost[node] {
		n.logf("%s is back", node)
		return nil
	}
	n.Lose(node, pods)
	isEvicting := n.dice.Chance(0.3)
	for _, p := range pods {
		if isEvicting && p.Spec.NodeName == node && !IsFinished(p) && p.DeletionTimestamp == nil {
			n.MarkEvicted(p, "DeletionByTaintManager")
			evicted = append(evicted, p)
		}
	}
	return evicted
}

// Reconnect reconnects all nodes.
func (n *Nodes) Reconnect() { clear(n.lost) }

// BreakImage makes containers of a good image crash from now on, possibly those of the current revision.
func (n *Nodes) BreakImage() {
	image := dice.Pick(n.dice, "app:1", "app:2", "app:3", "app:4")
	n.logf("%s breaks", image)
	n.brokenImages[image] = true
}
