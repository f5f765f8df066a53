//go:build e2e

package node

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// tell sends a command to the web server of a pod, once. The server may end before it can answer.
func (s *space) tell(pod *corev1.Pod, what string) {
	s.T.Helper()
	if pod.Spec.NodeName != realNode {
		s.T.Fatalf("%s is on %q, which is no real node", pod.Name, pod.Spec.NodeName)
	}
	if response, err := client.Post(fmt.Sprintf("http://%s:8080%s", pod.Status.PodIP, what), "", nil); err == nil {
		_ = response.Body.Close()
	}
}

// A pod whose readiness probe fails is reported, but not replaced. When it is ready again, the PodManager is Ready again.
func TestUnready(t *testing.T) {
	s := newSpace(t)
	s.apply(spec(2, inPlace, "", web("1", "")))
	s.awaitReady(2)
	before := s.pods()
	s.tell(&before[0], "/unready")
	s.awaitReason(v1.ConditionReady, v1.ReasonPodsNotReady)
	if manager := s.manager(); manager.Status.ReadyReplicas != 1 {
		t.Errorf("want one ready pod of two: %s", harness.Brief(manager))
	}
	s.tell(&before[0], "/ready")
	s.awaitReady(2)
	s.stayed(before, s.pods(), 0)
}

// The kubelet restarts a container that ends. The controller leaves the pod alone, and the PodManager is Ready again.
func TestRestarts(t *testing.T) {
	t.Parallel()
	// On a slow machine a server may start to listen or answer late, and must not be considered dead.
	const livez = "httpGet: {path: /livez, port: 8080}, periodSeconds: 1, timeoutSeconds: 30"
	liveness := ", startupProbe: {" + livez + ", failureThreshold: 60}, livenessProbe: {" + livez + ", failureThreshold: 1}"
	limits := ", resources: {limits: {memory: 64Mi}}"
	tests := map[string]struct{ more, do, reason string }{
		"crash":            {"", "/crash", "Error"},
		"liveness":         {liveness, "/dead", "Completed"}, // the server obeys the kubelet's signal, and exits with 0
		"more than memory": {limits, "/eat?mib=200", "OOMKilled"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.apply(spec(2, inPlace, "", web("1", test.more)))
			s.awaitReady(2)
			before := s.pods()
			s.tell(&before[1], test.do)
			s.Await("a restart", func() (any, bool) {
				status := s.pods()[1].Status.ContainerStatuses[0]
				last := status.LastTerminationState.Terminated
				return status, status.RestartCount == 1 && last != nil && last.Reason == test.reason
			})
			s.awaitReady(2)
			s.stayed(before[:1], s.pods()[:1], 0)
			s.stayed(before[1:], s.pods()[1:], 1)
			s.answers("1")
		})
	}
}

// A revision that never becomes ready stops at the first pod, and the next revision fixes it.
func TestNeverReady(t *testing.T) {
	t.Parallel()
	for way, limits := range ways {
		t.Run(way, func(t *testing.T) {
			s := newSpace(t)
			deadline := "progressDeadlineSeconds: 5, failurePolicy: {gracePeriodSeconds: 0}"
			s.apply(spec(2, limits, deadline, web("1", "")))
			s.awaitReady(2)
			before := s.pods()
			s.apply(spec(2, limits, deadline, web("unready", "")))
			s.awaitReason(v1.ConditionProgressing, v1.ReasonDeadline)
			if count := s.untouched(before); count != 1 {
				t.Errorf("%d pods serve as before, want 1", count)
			}
			s.apply(spec(2, limits, deadline, web("2", "")))
			s.awaitReady(2)
			s.answers("2")
		})
	}
}
