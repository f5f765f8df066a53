//go:build e2e

package node

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// space is a test's namespace, with a PodManager named web.
type space struct {
	*harness.Space
}

// newSpace creates a namespace for a test that runs in parallel with others.
func newSpace(t *testing.T) *space {
	t.Helper()
	t.Parallel()
	return newSpaceAlone(t)
}

// newSpaceAlone creates a namespace for a test that runs alone, before all parallel tests, because it affects the whole node or the controller.
func newSpaceAlone(t *testing.T) *space {
	t.Helper()
	return &space{harness.NewSpace(t, shared.cluster)}
}

// in returns the same namespace for a part of a test.
func (s *space) in(t *testing.T) *space { return &space{s.With(t)} }

// apply applies the PodManager.
func (s *space) apply(spec string) {
	s.T.Helper()
	s.ApplyManager("web", "", spec)
}

func (s *space) manager() *v1.PodManager {
	s.T.Helper()
	return s.Manager("web")
}

// awaitReady waits until the PodManager is Ready, and returns how long that took.
func (s *space) awaitReady(replicas int) time.Duration {
	s.T.Helper()
	began := time.Now()
	s.Await(fmt.Sprintf("web to be Ready with %d pods", replicas), func() (any, bool) {
		manager := s.manager()
		return harness.Brief(manager), manager.Status.ObservedGeneration == manager.Generation && int(manager.Status.UpdatedReplicas) == replicas &&
			meta.IsStatusConditionTrue(manager.Status.Conditions, v1.ConditionReady)
	})
	return time.Since(began)
}

// awaitReason waits until a condition has the reason, and returns its message.
func (s *space) awaitReason(kind, reason string) string {
	s.T.Helper()
	message := ""
	s.Await("the reason "+reason+" of "+kind, func() (any, bool) {
		manager := s.manager()
		found := meta.FindStatusCondition(manager.Status.Conditions, kind)
		if found != nil {
			message = found.Message
		}
		return harness.Brief(manager), found != nil && found.Reason == reason && manager.Status.ObservedGeneration == manager.Generation
	})
	return message
}

// pods returns the pods that are not terminating, by name.
func (s *space) pods() []corev1.Pod {
	s.T.Helper()
	return slices.DeleteFunc(s.AllPods(), func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// answer is what the web server in a pod reports.
type answer struct {
	Version, CPU, Memory string
	Env                  map[string]string
}

// ask sends a request to the web server of a pod on a port.
func (s *space) ask(pod *corev1.Pod, port int) answer {
	s.T.Helper()
	var said answer
	// The addresses of pods on simulated nodes are made up, and may belong to another machine.
	if pod.Spec.NodeName != realNode {
		s.T.Fatalf("%s is on %q, which is no real node", pod.Name, pod.Spec.NodeName)
	}
	response, err := client.Get(fmt.Sprintf("http://%s:%d/", pod.Status.PodIP, port))
	if err != nil {
		s.T.Errorf("%s does not answer: %v", pod.Name, err)
		return said
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		s.T.Errorf("%s answers what is not JSON: %v", pod.Name, err)
	}
	return said
}

// stayed checks that the pods are the same as before, at the same addresses, and how often each container was restarted.
func (s *space) stayed(before, after []corev1.Pod, restarts ...int32) {
	s.T.Helper()
	if len(before) != len(after) {
		s.T.Fatalf("there were %d pods, there are %d", len(before), len(after))
	}
	for i, pod := range after {
		was := before[i]
		if pod.Name != was.Name || pod.UID != was.UID || pod.Status.PodIP != was.Status.PodIP {
			s.T.Errorf("%s was %s at %s, is %s at %s", pod.Name, was.UID, was.Status.PodIP, pod.UID, pod.Status.PodIP)
		}
		for j, status := range pod.Status.ContainerStatuses {
			if more := status.RestartCount - was.Status.ContainerStatuses[j].RestartCount; more != restarts[j] {
				s.T.Errorf("%s: container %s was restarted %d times, want %d", pod.Name, status.Name, more, restarts[j])
			}
		}
	}
}
