//go:build e2e

package node

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// inPlaceIfPossible are limits that allow a pod to be replaced if it cannot be updated in place.
const inPlaceIfPossible = "podUpdatePolicy: InPlaceIfPossible, maxSurge: 0, maxUnavailable: 1"

// allocatable returns the allocatable resources of the real node: CPU in millicores, memory in MiB.
func (s *space) allocatable() size {
	s.T.Helper()
	node, err := shared.kube.CoreV1().Nodes().Get(s.T.Context(), realNode, metav1.GetOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	return size{int(node.Status.Allocatable.Cpu().MilliValue()), int(node.Status.Allocatable.Memory().Value() >> 20)}
}

// awaitTold waits until a condition has the reason, and its message has all the words.
func (s *space) awaitTold(kind, reason string, words ...string) {
	s.T.Helper()
	var found *metav1.Condition
	s.Await(fmt.Sprintf("%s to have the reason %s and a message with %q", kind, reason, words), func() (any, bool) {
		manager := s.manager()
		found = meta.FindStatusCondition(manager.Status.Conditions, kind)
		ok := found != nil && found.Reason == reason && manager.Status.ObservedGeneration == manager.Generation
		for _, word := range words {
			ok = ok && strings.Contains(found.Message, word)
		}
		return harness.Brief(manager), ok
	})
	s.T.Logf("%s: %s: %s", kind, reason, found.Message)
}

// serving checks that this many pods count as available, and that this is enough.
func (s *space) serving(count int32) {
	s.T.Helper()
	manager := s.manager()
	if status := manager.Status; status.AvailableReplicas != count || status.ReadyReplicas != count ||
		!meta.IsStatusConditionTrue(status.Conditions, v1.ConditionAvailable) {
		s.T.Errorf("want %d available pods: %s", count, harness.Brief(manager))
	}
}

// A template asks for more CPU than the node has. If pods may not be replaced, they keep their CPU. In Kubernetes 1.36 the API server refuses such a
// resize itself, before a kubelet could report it as infeasible.
func TestResizeBeyondNode(t *testing.T) {
	s := newSpace(t)
	from, to := size{100, 64}, size{150, 64}
	beyond := size{s.allocatable().cpu + 1000, 64}
	s.apply(spec(2, inPlace, "", limited("1", from, "", "")))
	s.awaitReady(2)
	before := s.pods()
	s.apply(spec(2, inPlace, "", limited("1", beyond, "", "")))
	why := fmt.Sprintf("cpu, requested: %d, allocatable: ", beyond.cpu)
	s.awaitTold(v1.ConditionStalled, v1.ReasonNotInPlace, why)
	s.awaitTold(v1.ConditionReady, v1.ReasonNotInPlace, why)
	s.serving(2)
	s.stayed(before, s.pods(), 0)
	s.has(from)
	s.apply(spec(2, inPlace, "", limited("1", to, "", "")))
	s.awaitReady(2)
	s.stayed(before, s.pods(), 0)
	s.has(to)
}

// A template asks for more CPU than the node has. If pods may be replaced, the controller replaces one. No node has room for the new pod, and the
// others keep serving.
func TestReplacedBeyondNode(t *testing.T) {
	s := newSpace(t)
	from, to := size{100, 64}, size{150, 64}
	s.apply(spec(3, inPlaceIfPossible, "", limited("1", from, "", "")))
	s.awaitReady(3)
	before := s.pods()
	s.apply(spec(3, inPlaceIfPossible, "", limited("1", size{s.allocatable().cpu + 1000, 64}, "", "")))
	s.awaitTold(v1.ConditionReady, v1.ReasonRollingOut, "1 of 3 pods updated, 2 available", "Unschedulable", "Insufficient cpu")
	s.serving(2)
	if count := s.untouched(before); count != 2 {
		t.Errorf("%d pods serve as before, want 2", count)
	}
	s.apply(spec(3, inPlaceIfPossible, "", limited("1", to, "", "")))
	s.awaitReady(3)
	if count := s.untouched(before); count != 2 {
		t.Errorf("%d pods are the same as before, want 2", count)
	}
	s.has(to)
}

// A resize that the node has no room for yet is deferred. The pod keeps serving, and no other pod is touched until there is room. Another pod takes
// memory rather than CPU, because the concurrent tests need little memory, but would have to wait for CPU.
func TestResizeDeferred(t *testing.T) {
	s := newSpace(t)
	big := newSpaceAlone(t) // in parallel with others, like this test
	all := s.allocatable().memory
	from, to := size{50, 64}, size{50, all * 3 / 10}
	take := web("1", fmt.Sprintf(", resources: {requests: {memory: %dMi}}", all*8/10))
	big.apply(spec(1, inPlace, "", take))
	s.apply(spec(2, inPlaceIfPossible, "", limited("1", from, "", "")))
	big.awaitReady(1)
	s.awaitReady(2)
	before := s.pods()
	w := s.witness()
	s.apply(spec(2, inPlaceIfPossible, "", limited("1", to, "", "")))
	s.awaitTold(v1.ConditionReady, v1.ReasonRollingOut, "1 of 2 pods updated, 2 available", "resize deferred", "memory")
	s.serving(2)
	s.stayed(before, s.pods(), 0)
	s.has(from)
	if manager := s.manager(); manager.Status.CurrentRevision == manager.Status.UpdateRevision {
		t.Errorf("a revision that waits for room is good: %s", harness.Brief(manager))
	}
	big.apply(spec(0, inPlace, "", take))
	t.Logf("with room, 2 pods took %v", s.awaitReady(2))
	s.stayed(before, s.pods(), 0)
	s.has(to)
	s.awaitBaked()
	w.alwaysReady(before)
}

// alwaysReady checks that the pods were ready at all times.
func (w *witness) alwaysReady(pods []corev1.Pod) {
	w.s.T.Helper()
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, pod := range pods {
		count := 0
		for _, seen := range w.seen {
			if seen.isEndpoint || seen.address != pod.Status.PodIP {
				continue
			}
			if count++; !seen.ready {
				w.s.T.Errorf("%s was not ready at %v", pod.Name, seen.at)
			}
		}
		if count == 0 {
			w.s.T.Errorf("%s was never seen", pod.Name)
		}
	}
}

// A template asks for less memory than a container uses. The kubelet keeps trying to resize the pod, which keeps its limit and serves. The pod gets
// the new limit once it uses less, or keeps the old one if the spec is reverted.
func TestMemoryBelowUse(t *testing.T) {
	t.Parallel()
	from, less := size{100, 128}, size{100, 48}
	tests := map[string]struct {
		settle func(s *space, pods []corev1.Pod)
		end    size
	}{
		"given back": {func(s *space, pods []corev1.Pod) {
			for _, pod := range pods {
				s.tell(&pod, "/eat?mib=0")
			}
		}, less},
		"reverted": {func(s *space, _ []corev1.Pod) { s.apply(spec(2, inPlace, "", limited("1", from, "", ""))) }, from},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.apply(spec(2, inPlace, "", limited("1", from, "", "")))
			s.awaitReady(2)
			before := s.pods()
			for _, pod := range before {
				s.tell(&pod, "/eat?mib=64")
			}
			w := s.witness()
			s.apply(spec(2, inPlace, "", limited("1", less, "", "")))
			s.awaitTold(v1.ConditionReady, v1.ReasonRollingOut, "1 of 2 pods updated, 2 available", "resize failed", "memory")
			s.serving(2)
			s.stayed(before, s.pods(), 0)
			s.has(from)
			test.settle(s, before)
			t.Logf("settled after %v", s.awaitReady(2))
			s.stayed(before, s.pods(), 0)
			s.has(test.end)
			w.alwaysReady(before)
		})
	}
}
