//go:build e2e

package node

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	// tolerant pods are evicted a second after their node is lost.
	tolerant = ", tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 1}]"
	// aMebibyte is a request for memory. Under memory pressure a kubelet admits only pods with such a request, and a kubelet that restarts decides
	// again about every pod.
	aMebibyte = ", resources: {requests: {memory: 1Mi}}"
)

// Whatever happens to the node, lost pods are replaced, and the new revision, which is under observation all the time, is not blamed.
func TestDisruptions(t *testing.T) {
	s := newSpaceAlone(t)
	s.try(tolerant, aMebibyte)
	t.Run("drain", func(t *testing.T) { s.in(t).isDrained() })
	t.Run("kubelet dies", func(t *testing.T) { s.in(t).losesKubelet() })
	t.Run("memory pressure", func(t *testing.T) { s.in(t).runsOutOfMemory() })
}

// losesKubelet checks what happens when the kubelet dies and returns. Containers keep running in the meantime, and pods that no client touches are
// the same afterwards. A rollout that began in the meantime continues. Pods that do not tolerate a lost node are evicted and replaced.
func (s *space) losesKubelet() {
	s.T.Helper()
	tried, serving, rolled := s.active(), newSpaceAlone(s.T), map[string]*space{}
	serving.apply(spec(2, inPlace, "", web("1", "")))
	for way, limits := range ways {
		rolled[way] = newSpaceAlone(s.T)
		rolled[way].apply(spec(2, limits, "", web("1", "")))
	}
	serving.awaitReady(2)
	before := map[string][]corev1.Pod{"serving": serving.pods()}
	for way, other := range rolled {
		other.awaitReady(2)
		other.awaitBaked()
		before[way] = other.pods()
	}

	release := serving.holdKubelet()
	serving.awaitNode("the node to be lost", func(node *corev1.Node) bool {
		return nodeCondition(node, corev1.NodeReady) == corev1.ConditionUnknown
	})
	for way, other := range rolled {
		other.apply(spec(2, ways[way], "", web("2", "")))
		other.awaitReason(v1.ConditionReady, v1.ReasonRollingOut)
	}
	serving.awaitLost(before["serving"])
	s.awaitEvicted(tried)

	release()
	serving.awaitReady(2)
	serving.stayed(before["serving"], serving.pods(), 0)
	serving.answers("1")
	for _, other := range rolled {
		other.awaitReady(2)
		other.answers("2")
	}
	rolled["in place"].stayed(before["in place"], rolled["in place"].pods(), 1)
	if left := rolled["replaced"].left(before["replaced"]); len(left) > 0 {
		s.T.Errorf("%d pods have not been replaced", len(left))
	}
	s.triedOn(tried...)
}

// awaitLost waits until the PodManager reports that its pods are on a lost node. They keep serving, and the controller leaves them alone.
func (s *space) awaitLost(before []corev1.Pod) {
	s.T.Helper()
	s.Await("the status to report the lost node", func() (any, bool) {
		manager := s.manager()
		ready := harness.ConditionOf(manager, v1.ConditionReady)
		return harness.Brief(manager), manager.Status.Replicas == 2 && manager.Status.ReadyReplicas == 0 && manager.Status.AvailableReplicas == 0 &&
			ready.Reason == v1.ReasonPodsNotReady && strings.Contains(ready.Message, realNode)
	})
	s.stayed(before, s.pods(), 0)
	s.answers("1")
}

// awaitEvicted waits until all previous pods are terminating, and others wait for a node. The scheduler may have put another pod on the node before
// it saw the taint; that pod is evicted, too.
func (s *space) awaitEvicted(before []corev1.Pod) {
	s.T.Helper()
	s.Await("the pods to be evicted", func() (any, bool) {
		manager := s.manager()
		return harness.Brief(manager), len(s.left(before)) == 0 && manager.Status.Replicas == 3 && manager.Status.TerminatingReplicas >= 3 &&
			strings.Contains(harness.ConditionOf(manager, v1.ConditionReady).Message, "untolerated taint")
	})
}

// runsOutOfMemory checks that a node that is short of memory evicts its pods, starting with the one that uses the most. They are replaced, and run
// as soon as there is room.
func (s *space) runsOutOfMemory() {
	s.T.Helper()
	before := s.active()
	largest := updated(before)
	s.tell(largest, "/eat?mib=100")
	// No machine has that much memory available, so the node is under memory pressure from now on.
	restore := s.reconfigureKubelet("memory.available: 50Mi", "memory.available: 99%")
	// The kubelet gives the pod the reason Evicted only if a container has not exited with 0; see podstate.Disruption.
	s.awaitDisruption(largest, "TerminationByKubelet: The node was low on resource: memory", "Evicted: The node was low on resource: memory")
	// Wait before restoring the kubelet: if it dies in the middle of an eviction, it restarts the containers.
	s.Await("all pods to be evicted", func() (any, bool) { return harness.Brief(s.manager()), len(s.left(before)) == 0 })
	restore()
	s.triedOn(before...)
}
