//go:build e2e

package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// departure is how a pod went: how long after its deletion, and with which exit code of its container.
type departure struct {
	pod      string
	took     time.Duration
	exitCode int32
}

// departures tells of pods that go. No pod may come meanwhile.
func (s *space) departures() <-chan departure {
	s.t.Helper()
	pods := shared.kube.CoreV1().Pods(s.name)
	list, err := pods.List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	events, err := pods.Watch(s.t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		s.t.Fatal(err)
	}
	gone := make(chan departure, len(list.Items))
	go func() {
		asked := map[string]time.Time{}
		for event := range events.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			switch {
			case !ok:
			case event.Type == watch.Added:
				s.t.Errorf("%s was made, and none should have been", pod.Name)
			case event.Type == watch.Deleted:
				gone <- departure{pod.Name, time.Since(asked[pod.Name]), exitCode(pod)}
			case pod.DeletionTimestamp != nil && asked[pod.Name].IsZero():
				asked[pod.Name] = time.Now()
			}
		}
	}()
	return gone
}

// exitCode is that of the pod's container, or -1 if nobody has said how it ended.
func exitCode(pod *corev1.Pod) int32 {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Terminated != nil {
			return status.State.Terminated.ExitCode
		}
	}
	return -1
}

// terminating are the pods that are going.
func (s *space) terminating() []corev1.Pod {
	s.t.Helper()
	list, err := shared.kube.CoreV1().Pods(s.name).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	var going []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp != nil {
			going = append(going, pod)
		}
	}
	return going
}

// goes is what becomes of a pod that is deleted: how long that takes, and the exit code.
type goes struct {
	atLeast, below time.Duration
	exitCode       int32
}

// went waits until a pod is gone, and checks how. What is seen here may be late, and so be a little less.
func (s *space) went(gone <-chan departure, want goes) {
	s.t.Helper()
	select {
	case got := <-gone:
		s.t.Logf("%s was gone after %v with exit code %d", got.pod, got.took, got.exitCode)
		if got.took < want.atLeast-500*time.Millisecond || got.took > want.below || got.exitCode != want.exitCode {
			s.t.Errorf("want %+v", want)
		}
	case <-time.After(patience):
		s.t.Fatalf("no pod was gone after %v", patience)
	}
}

// A pod that is scaled away has the time that its template gives it, for its hook and its goodbye. It is counted until it is gone, and
// nothing takes its place.
func TestScaleDownWaits(t *testing.T) {
	t.Parallel() // with the tests of other files, which would wait for this one otherwise
	tests := map[string]struct {
		hook   string
		linger time.Duration
		grace  int
		want   goes
	}{
		"sleep":     {"sleep: {seconds: 3}", 2 * time.Second, 30, goes{5 * time.Second, 20 * time.Second, 0}},
		"request":   {"httpGet: {path: '/slow?for=3s', port: 8080}", 2 * time.Second, 30, goes{5 * time.Second, 20 * time.Second, 0}},
		"too short": {"sleep: {seconds: 1}", time.Minute, 12, goes{12 * time.Second, 30 * time.Second, 137}}, // time to ask it, on a slow machine
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			container := web("1", fmt.Sprintf(", env: [{name: LINGER, value: %v}], lifecycle: {preStop: {%s}}", test.linger, test.hook))
			scaled := func(replicas int) string {
				return strings.Replace(spec(replicas, inPlace, "", container), "terminationGracePeriodSeconds: 5",
					fmt.Sprintf("terminationGracePeriodSeconds: %d", test.grace), 1)
			}
			s.apply(scaled(2))
			s.awaitReady(2)
			before := s.pods()
			gone := s.departures()
			s.apply(scaled(1))
			s.awaitTerminating(1)
			going := s.terminating()
			if len(going) != 1 || s.ask(&going[0], 8080).Version != "1" {
				t.Errorf("%d pods are terminating, and want one that serves", len(going))
			}
			s.went(gone, test.want)
			s.awaitTerminating(0)
			after := s.pods()
			s.stayed(slices.DeleteFunc(before, func(pod corev1.Pod) bool { return pod.Name == going[0].Name }), after, 0)
			s.answers("1")
		})
	}
}

// awaitTerminating waits until one pod is wanted and Ready, and so many more are counted as terminating.
func (s *space) awaitTerminating(count int32) {
	s.t.Helper()
	s.await(fmt.Sprintf("%d terminating pods to be counted", count), func() (any, bool) {
		manager := s.manager()
		status := manager.Status
		return brief(manager), status.TerminatingReplicas == count && status.Replicas == 1 && status.ObservedGeneration == manager.Generation &&
			meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady)
	})
}
