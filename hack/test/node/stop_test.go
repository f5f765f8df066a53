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

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// departure is how a pod ended: how long after its deletion its container ended, and with which exit code. Both times are from this machine's
// clock, in whole seconds, and do not depend on when the test sees them.
type departure struct {
	pod      string
	took     time.Duration
	exitCode int32
}

// departures returns a channel with the departures of pods. No pod may be created in the meantime.
func (s *space) departures() <-chan departure {
	s.T.Helper()
	pods := shared.kube.CoreV1().Pods(s.Name)
	list, err := pods.List(s.T.Context(), metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	events, err := pods.Watch(s.T.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		s.T.Fatal(err)
	}
	gone := make(chan departure, len(list.Items))
	go func() {
		asked := map[string]time.Time{}
		for event := range events.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			switch {
			case !ok:
			case event.Type == watch.Added:
				s.T.Errorf("pod %s was created, although no pod should be", pod.Name)
			case event.Type == watch.Deleted:
				gone <- departed(pod, asked[pod.Name])
			case pod.DeletionTimestamp != nil && asked[pod.Name].IsZero():
				// The kubelet's last request sets the timestamp again, with a grace period of 0.
				asked[pod.Name] = pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
			}
		}
	}()
	return gone
}

// departed returns how a pod ended after it was deleted. The exit code is -1 if the kubelet has not reported it.
func departed(pod *corev1.Pod, asked time.Time) departure {
	for _, status := range pod.Status.ContainerStatuses {
		if ended := status.State.Terminated; ended != nil {
			return departure{pod.Name, ended.FinishedAt.Sub(asked), ended.ExitCode}
		}
	}
	return departure{pod.Name, 0, -1}
}

// release lets the one terminating pod end, which serves until then.
func (s *space) release() {
	s.T.Helper()
	list, err := shared.kube.CoreV1().Pods(s.Name).List(s.T.Context(), metav1.ListOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
	going := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp == nil })
	if len(going) != 1 || s.ask(&going[0], 8080).Version != "1" {
		s.T.Fatalf("%d pods are terminating, want one, which serves version 1", len(going))
	}
	s.tell(&going[0], "/release")
}

// goes is how a deleted pod has to end: how long its container runs at least, and the exit code.
type goes struct {
	atLeast  time.Duration
	exitCode int32
}

// went waits until a pod is gone, and checks how it ended. The times are rounded down, so the difference may be a second too small.
func (s *space) went(gone <-chan departure, want goes) (pod string) {
	s.T.Helper()
	select {
	case got := <-gone:
		s.T.Logf("%s ended after %v with exit code %d", got.pod, got.took, got.exitCode)
		if got.took < want.atLeast-time.Second || got.exitCode != want.exitCode {
			s.T.Errorf("%s ended in another way, want %+v", got.pod, want)
		}
		return got.pod
	case <-time.After(harness.Patience):
		s.T.Fatalf("no pod was gone after %v", harness.Patience)
	}
	return ""
}

// When a scale-down deletes a pod, its preStop hook and its shutdown may take as long as the grace period in the template. The pod ends when the
// test releases it, or when the kubelet kills it. The status counts it until it is gone, and it is not replaced.
func TestScaleDownWaits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		hook  string
		grace int
		want  goes
	}{
		"sleep":     {"sleep: {seconds: 3}", 300, goes{3 * time.Second, 0}},
		"request":   {"httpGet: {path: /held, port: 8080}", 300, goes{0, 0}},
		"too short": {"sleep: {seconds: 1}", 4, goes{4 * time.Second, 137}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			container := web("1", fmt.Sprintf(", env: [{name: LINGER, value: 'true'}], lifecycle: {preStop: {%s}}", test.hook))
			scaled := func(replicas int) string {
				return strings.Replace(spec(replicas, inPlace, "", container), "terminationGracePeriodSeconds: 5",
					fmt.Sprintf("terminationGracePeriodSeconds: %d", test.grace), 1)
			}
			s.apply(scaled(2))
			s.awaitReady(2)
			before := s.pods()
			gone := s.departures()
			s.apply(scaled(1))
			if test.want.exitCode == 0 {
				s.awaitTerminating(1)
				s.release()
			}
			went := s.went(gone, test.want)
			s.awaitTerminating(0)
			s.stayed(slices.DeleteFunc(before, func(pod corev1.Pod) bool { return pod.Name == went }), s.pods(), 0)
			s.answers("1")
		})
	}
}

// awaitTerminating waits until one pod is wanted and Ready, and this many more are counted as terminating.
func (s *space) awaitTerminating(count int32) {
	s.T.Helper()
	s.Await(fmt.Sprintf("%d terminating pods to be counted", count), func() (any, bool) {
		manager := s.manager()
		status := manager.Status
		return harness.Brief(manager), status.TerminatingReplicas == count && status.Replicas == 1 && status.ObservedGeneration == manager.Generation &&
			meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady)
	})
}
