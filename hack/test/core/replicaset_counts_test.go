//go:build e2e

package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Existing, ready and available are three different counts.
func TestReadyAndAvailable(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 3, image: nginx, minReadySeconds: 3600, progressDeadlineSeconds: 7200}")
	s.Await("three pods to be ready and none available", func() (any, bool) {
		status := s.Manager("web").Status
		return status, status.Replicas == 3 && status.ReadyReplicas == 3 && status.AvailableReplicas == 0
	})
	s.setPodStatus("web-0", `{"conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady"}]}`)
	s.setPodStatus("web-2", fmt.Sprintf(`{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}]}`,
		time.Now().Add(-2*time.Hour).UTC().Format(time.RFC3339)))
	s.Await("3 pods, 2 ready, 1 available", func() (any, bool) {
		status := s.Manager("web").Status
		return status, status.Replicas == 3 && status.ReadyReplicas == 2 && status.AvailableReplicas == 1
	})
	if ready := s.Condition("web", v1.ConditionReady); ready.Reason != v1.ReasonPodsNotReady || !strings.Contains(ready.Message, "web-0") {
		t.Errorf("Ready is %+v", ready)
	}
	if got := s.Condition("web", v1.ConditionAvailable); got.Reason != v1.ReasonNotEnough || got.Message != "1 of 3 pods available" {
		t.Errorf("Available is %+v", got)
	}
}

// Terminating pods are counted while they exist, separately from their replacements.
func TestTerminatingReplicas(t *testing.T) {
	s := newSpace(t)
	s.apply("web", s.held("replicas: 5"))
	s.awaitReady("web", 5)
	awaitGoing := func(want int32) {
		t.Helper()
		s.Await(fmt.Sprintf("5 pods to be ready and %d to be going", want), func() (any, bool) {
			status := s.Manager("web").Status
			return status, status.Replicas == 5 && status.ReadyReplicas == 5 && status.TerminatingReplicas == want
		})
	}
	s.deletePod("web-0")
	awaitGoing(1)
	s.deletePod("web-1")
	awaitGoing(2)
	// The names of pods that still exist are not reused.
	s.awaitPods("web-2 web-3 web-4 web-5 web-6")
	if got := len(s.AllPods()); got != 7 {
		t.Errorf("%d pods exist, want 5 and the 2 that are held", got)
	}
	s.letGo("web-0")
	awaitGoing(1)
	s.letGo("web-1")
	awaitGoing(0)
	s.awaitReady("web", 5)
}

// A terminating pod and a failed pod do not count as replicas. Each is replaced at once while it still exists.
func TestDeletingAndFailedPods(t *testing.T) {
	s := newSpace(t)
	s.apply("web", s.held("replicas: 2"))
	s.awaitReady("web", 2)
	before := uids(s.AllPods())
	s.deletePod("web-0")
	s.setPodStatus("web-1", `{"phase":"Failed"}`)
	s.Await("two pods more", func() (any, bool) {
		now := uids(s.AllPods())
		return now, len(now) == 4 && len(s.Pods()) == 2
	})
	for name, uid := range before {
		if pod := s.pod(name); pod.UID != uid {
			t.Errorf("%s was replaced", name)
		}
	}
	if pod := s.pod("web-1"); pod.Status.Phase != corev1.PodFailed || pod.DeletionTimestamp != nil {
		t.Errorf("the failed pod was not kept: %s, deleted %v", pod.Status.Phase, pod.DeletionTimestamp)
	}
	s.Await("the status to count them", func() (any, bool) {
		status := s.Manager("web").Status
		return status, status.Replicas == 2 && status.TerminatingReplicas == 1
	})
}

// The controller observes a change of the spec that does not change the number of pods.
func TestObservedGenerationFollows(t *testing.T) {
	s := newSpace(t)
	const spec = "{replicas: 2, template: {metadata: {annotations: {note: %s}}, spec: {containers: [{name: a, image: a}]}}}"
	s.apply("web", fmt.Sprintf(spec, "first"))
	before := s.awaitReady("web", 2).Generation
	s.apply("web", fmt.Sprintf(spec, "second"))
	s.Await("the new generation to be observed", func() (any, bool) {
		manager := s.Manager("web")
		return harness.Brief(manager), manager.Generation == before+1 && manager.Status.ObservedGeneration == manager.Generation
	})
}

// Only the selector's label decides which PodManager a pod belongs to. New pods get the other labels of the template.
func TestLabelsBeyondTheSelector(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, updateStrategy: {type: OnDelete}, image: nginx}")
	s.awaitReady("web", 2)
	before := uids(s.Pods())
	s.patchPod("web-0", `{"labels":{"extra":"yes","app":"another"}}`)
	s.patchPod("web-1", `{"labels":{"app":null}}`)
	s.apply("web", "{replicas: 3, updateStrategy: {type: OnDelete}, template: {metadata: {labels: {extra: 'yes'}}, spec: {containers: [{name: app, image: nginx}]}}}")
	s.Await("a third pod", func() (any, bool) {
		status := s.Manager("web").Status
		return status, status.Replicas == 3 && status.ReadyReplicas == 3 && slices.Equal(status.PodNames, []string{"web-0", "web-1", "web-2"})
	})
	if got := s.pod("web-2").Labels["extra"]; got != "yes" {
		t.Errorf("the new pod has no label of the new template: %v", s.pod("web-2").Labels)
	}
	for name, uid := range before {
		if pod := s.pod(name); pod.UID != uid || len(pod.OwnerReferences) != 1 {
			t.Errorf("%s was released or replaced: %+v", name, pod.ObjectMeta)
		}
	}
}
