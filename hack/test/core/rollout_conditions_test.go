//go:build e2e

package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Conditions during a rollout, as the function state formats them.
const (
	rollingOut = "Ready=False/RollingOut Available=True/EnoughReplicas Progressing=True/RollingOut"
	allDone    = "Ready=True/AllReplicasAvailable Available=True/EnoughReplicas Progressing=False/Complete"
	onHold     = "Ready=False/Paused Available=True/EnoughReplicas Progressing=False/Paused"
	tooLate    = "Ready=False/ProgressDeadlineExceeded Available=True/EnoughReplicas Progressing=False/ProgressDeadlineExceeded Stalled=True/ProgressDeadlineExceeded"
)

// state returns the counts and conditions of a rollout in one line.
func state(manager *v1.PodManager) string {
	status := manager.Status
	line := fmt.Sprintf("%d pods, %d current, %d updated, %d available:", status.Replicas, status.CurrentReplicas, status.UpdatedReplicas, status.AvailableReplicas)
	for _, kind := range []string{v1.ConditionReady, v1.ConditionAvailable, v1.ConditionProgressing, v1.ConditionStalled, v1.ConditionReplicaFailure} {
		for _, condition := range status.Conditions {
			if condition.Type == kind {
				line += fmt.Sprintf(" %s=%s/%s", kind, condition.Status, condition.Reason)
			}
		}
	}
	return line
}

// awaitState waits until the status reflects the current spec, and has this state.
func (s *space) awaitState(name, want string) *v1.PodManager {
	s.T.Helper()
	var manager *v1.PodManager
	s.Await(want, func() (any, bool) {
		manager = s.Manager(name)
		return harness.Brief(manager), manager.Status.ObservedGeneration == manager.Generation && state(manager) == want
	})
	return manager
}

// awaitEvents waits until there are as many events of each reason as reasons has entries for it, and fails the test if there are more.
func (s *space) awaitEvents(name string, reasons ...string) (notes string) {
	s.T.Helper()
	s.Await(fmt.Sprintf("the events %v", reasons), func() (any, bool) {
		events, err := s.Cluster.Kube.EventsV1().Events(s.Name).List(s.Ctx, metav1.ListOptions{FieldSelector: "regarding.name=" + name})
		if err != nil {
			s.T.Fatal(err)
		}
		counts := map[string]int{}
		notes = ""
		for _, event := range events.Items {
			counts[event.Reason]++
			notes += event.Reason + ": " + event.Note + "\n"
			if event.Series != nil {
				counts[event.Reason] += int(event.Series.Count) - 1
			}
		}
		for _, reason := range slices.Compact(slices.Sorted(slices.Values(reasons))) {
			want := len(slices.DeleteFunc(slices.Clone(reasons), func(other string) bool { return other != reason }))
			if counts[reason] < want {
				return notes, false
			}
			if counts[reason] > want {
				s.T.Errorf("%d events %s, want %d:\n%s", counts[reason], reason, want, notes)
			}
		}
		return notes, true
	})
	return notes
}

// spec returns a short form with the limits that most of these tests use.
func spec(replicas int, image, more string) string {
	return fmt.Sprintf("{replicas: %d, image: %q, updateStrategy: {rollingUpdate: {maxSurge: 3, maxUnavailable: 2}}%s}", replicas, image, more)
}

// rolloutSpec returns a spec with the limits of a rolling update. more has all other fields, including the image or template.
func rolloutSpec(replicas int, limits, more string) string {
	return fmt.Sprintf("{replicas: %d, updateStrategy: {rollingUpdate: {%s}}, %s}", replicas, limits, more)
}

// revision returns the hash of the PodManager's current template, as in the labels of pods.
func revision(manager *v1.PodManager) string {
	return strings.TrimPrefix(manager.Status.UpdateRevision, manager.Name+"-")
}

// With a minReadySeconds of an hour pods are not available; with a second they are. No pod is touched.
func TestAvailableCondition(t *testing.T) {
	s := newSpace(t)
	s.apply("web", spec(10, "nginx", ", minReadySeconds: 3600, progressDeadlineSeconds: 7200"))
	manager := s.awaitState("web", "10 pods, 0 current, 10 updated, 0 available: Ready=False/WaitingForMinReadySeconds Available=False/NotEnoughReplicas Progressing=True/WaitingForPods")
	if manager.Status.ReadyReplicas != 10 {
		t.Errorf("want 10 ready pods: %s", harness.Brief(manager))
	}
	before := uids(s.Pods())
	s.apply("web", spec(10, "nginx", ", minReadySeconds: 1, progressDeadlineSeconds: 7200"))
	s.awaitState("web", "10 pods, 10 current, 10 updated, 10 available: "+allDone)
	if now := uids(s.Pods()); !maps.Equal(now, before) {
		t.Errorf("pods were replaced: %v, before %v", now, before)
	}
}

// A rollout without progress is Stalled after its deadline, and not before, and there is one event. Stalled ends with a better template, or when
// the pods become available.
func TestProgressDeadline(t *testing.T) {
	s := newSpace(t)
	deadline := harness.Scaled(3 * time.Second).Round(time.Second)
	limit := fmt.Sprintf(", progressDeadlineSeconds: %.0f", deadline.Seconds())
	s.apply("web", spec(4, "nginx:1", limit))
	s.awaitReady("web", 4)
	changed := time.Now().Truncate(time.Second)
	s.apply("web", spec(4, "nginx:never-ready", limit))
	manager := s.awaitState("web", "6 pods, 2 current, 4 updated, 2 available: "+tooLate)
	stalled := s.Condition("web", v1.ConditionStalled)
	if after := stalled.LastTransitionTime.Sub(changed); after < deadline {
		t.Errorf("stalled after %v", after)
	}
	if want := "no further pod of revision " + manager.Status.UpdateRevision + " has become available for " + deadline.String() + "; web-"; !strings.HasPrefix(stalled.Message, want) ||
		!strings.HasSuffix(stalled.Message, ": container app: not ready") {
		t.Errorf("Stalled says: %s", stalled.Message)
	}
	s.awaitEvents("web", v1.EventDeadline)
	s.apply("web", spec(4, "nginx:3", ", progressDeadlineSeconds: 600"))
	s.awaitState("web", "4 pods, 4 current, 4 updated, 4 available: "+allDone)
	s.awaitEvents("web", v1.EventDeadline)

	s.apply("late", "{replicas: 2, progressDeadlineSeconds: 2, template: {spec: {schedulingGates: [{name: example.com/wait}], containers: [{name: a, image: a}]}}}")
	s.awaitState("late", "2 pods, 0 current, 2 updated, 0 available: Ready=False/ProgressDeadlineExceeded Available=False/NotEnoughReplicas "+
		"Progressing=False/ProgressDeadlineExceeded Stalled=True/ProgressDeadlineExceeded")
	for _, name := range []string{"late-0", "late-1"} {
		s.Kubectl("patch", "pod", name, "--type=json", `-p=[{"op": "remove", "path": "/spec/schedulingGates"}]`)
	}
	s.awaitState("late", "2 pods, 2 current, 2 updated, 2 available: "+allDone)
}

// Time during which a rollout is paused does not count. The deadline leaves enough time to pause and to resume on a slow machine.
func TestProgressDeadlineDuringPause(t *testing.T) {
	s := newSpace(t)
	deadline := harness.Scaled(5 * time.Second).Round(time.Second)
	limit := fmt.Sprintf(", progressDeadlineSeconds: %.0f", deadline.Seconds())
	s.apply("web", spec(4, "nginx:1", limit))
	s.awaitReady("web", 4)
	s.apply("web", spec(4, "nginx:never-ready", limit))
	s.awaitState("web", "6 pods, 2 current, 4 updated, 2 available: "+rollingOut)
	s.apply("web", spec(4, "nginx:never-ready", limit+", paused: true"))
	s.awaitState("web", "6 pods, 2 current, 4 updated, 2 available: "+onHold)
	notStalled := func() (any, bool) {
		stalled := s.Condition("web", v1.ConditionStalled)
		return stalled, stalled.Type == ""
	}
	harness.Steadily(s.T, deadline+time.Second, "no deadline during a pause", notStalled)
	s.apply("web", spec(4, "nginx:never-ready", limit+", paused: false"))
	s.awaitState("web", "6 pods, 2 current, 4 updated, 2 available: "+rollingOut)
	s.awaitState("web", "6 pods, 2 current, 4 updated, 2 available: "+tooLate)
}
