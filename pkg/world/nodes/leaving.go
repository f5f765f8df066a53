package nodes

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Names has the names of all nodes.
var Names = []string{"node-a", "node-b", "node-c", "node-d", "node-e"}

// Cordon keeps the scheduler from placing pods on a node. Uncordon ends that.
func (n *Nodes) Cordon(node string) {
	n.logf("%s is cordoned", node)
	n.cordoned[node] = true
}

func (n *Nodes) Uncordon(node string) {
	n.logf("%s is uncordoned", node)
	delete(n.cordoned, node)
}

func (n *Nodes) IsCordoned(node string) bool { return n.cordoned[node] }

// Lose disconnects the kubelet of a node. The node controller marks its pods as not ready.
func (n *Nodes) Lose(node string, pods []*corev1.Pod) {
	n.logf("%s is lost", node)
	n.lost[node] = true
	for _, p := range pods {
		if p.Spec.NodeName == node && !IsFinished(p) {
			n.writeReady(p, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: n.serverTime()})
		}
	}
}

// Return reconnects the kubelet of a node.
func (n *Nodes) Return(node string) {
	n.logf("%s is back", node)
	delete(n.lost, node)
}

// IsNodeLost reports whether the kubelet of a node is disconnected.
func (n *Nodes) IsNodeLost(node string) bool { return n.lost[node] }

// MarkEvicted marks a pod that is about to be deleted because of its node.
func (n *Nodes) MarkEvicted(p *corev1.Pod, reason string) {
	SetCondition(p, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: n.serverTime()})
}

// openNodes returns the nodes that take pods.
func (n *Nodes) openNodes() []string {
	return slices.DeleteFunc(slices.Clone(Names), func(node string) bool { return n.cordoned[node] || n.lost[node] })
}
