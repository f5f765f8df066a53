//go:build e2e

package node

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// replacing are the limits of a rollout that replaces pods.
const replacing = "podUpdatePolicy: Recreate, maxSurge: 0, maxUnavailable: 1"

// missing is an image that cannot be pulled. No program listens at the address, so the error comes at once.
const missing = "127.0.0.1:1/missing:1"

// bad are containers that fail, each with a word about the reason that the PodManager's message must contain.
var bad = map[string]struct{ container, word string }{
	"crash":   {web("crash", ""), "exit code 7"},
	"missing": {strings.Replace(web("", ""), "local/web:", missing, 1), missing},
}

// ways are the ways in which a pod gets a bad revision.
var ways = map[string]string{"in place": inPlace, "replaced": replacing}

// policy returns a failure policy with a short grace period.
func policy(action v1.FailureAction) string {
	return fmt.Sprintf("failurePolicy: {onFailure: %s, gracePeriodSeconds: 2}", action)
}

// A bad revision is applied to three pods that serve version 1, for every bad container and every way. The failure policy is changed meanwhile: the
// rollout continues, halts, and is rolled back. Then a good revision is rolled out.
func TestFailurePolicies(t *testing.T) {
	t.Parallel()
	for what, fails := range bad {
		for way, limits := range ways {
			t.Run(what+"/"+way, func(t *testing.T) {
				s := newSpace(t)
				s.apply(spec(3, limits, policy(v1.ContinueOnFailure), web("1", "")))
				s.awaitReady(3)
				s.awaitBaked()
				before := s.pods()
				s.apply(spec(3, limits, policy(v1.ContinueOnFailure), fails.container))
				s.continues(before)
				s.apply(spec(3, limits, policy(v1.HaltOnFailure), fails.container))
				s.halts(before, fails.word)
				s.apply(spec(3, limits, policy(v1.RollbackOnFailure), fails.container))
				s.rollsBack(before, fails.word, way)
				s.apply(spec(3, limits, policy(v1.RollbackOnFailure), web("2", "")))
				s.awaitReady(3)
				s.answers("2")
			})
		}
	}
}

// awaitBaked waits until the spec's revision is the current one, to which a rollback would return.
func (s *space) awaitBaked() {
	s.T.Helper()
	s.Await("a revision to return to", func() (any, bool) {
		manager := s.manager()
		return harness.Brief(manager), manager.Status.CurrentRevision == manager.Status.UpdateRevision && manager.Status.Rollout == nil
	})
}

// untouched returns how many of the previous pods are unchanged: same UID and address, no restart, and they answer with version 1.
func (s *space) untouched(before []corev1.Pod) int {
	s.T.Helper()
	was, count := map[types.UID]string{}, 0
	for _, pod := range before {
		was[pod.UID] = pod.Status.PodIP
	}
	for _, pod := range s.pods() {
		if address := was[pod.UID]; address != "" && pod.Spec.Containers[0].Image == "local/web:1" &&
			pod.Status.PodIP == address && pod.Status.ContainerStatuses[0].RestartCount == 0 && s.ask(&pod, 8080).Version == "1" {
			count++
		}
	}
	return count
}

// continues checks that failing pods do not stop the rollout, but that the limits do: one pod is unavailable, and the next one waits for it.
func (s *space) continues(before []corev1.Pod) {
	s.T.Helper()
	s.Await("a pod to fail twice", func() (any, bool) {
		for _, pod := range s.pods() {
			for _, status := range pod.Status.ContainerStatuses {
				waiting := status.State.Waiting
				if waiting != nil && (waiting.Reason == "CrashLoopBackOff" || waiting.Reason == "ImagePullBackOff") {
					return pod.Name, true
				}
			}
		}
		return harness.Brief(s.manager()), false
	})
	if reason := harness.ConditionOf(s.manager(), v1.ConditionReady).Reason; reason == v1.ReasonHalted || reason == v1.ReasonRolledBack {
		s.T.Errorf("the rollout does not continue: %s", reason)
	}
	if count := s.untouched(before); count != 2 {
		s.T.Errorf("%d pods serve as before, want 2", count)
	}
}

// halts checks that one pod fails, and that the others keep serving.
func (s *space) halts(before []corev1.Pod, word string) {
	s.T.Helper()
	if message := s.awaitReason(v1.ConditionReady, v1.ReasonHalted); !strings.Contains(message, word) {
		s.T.Errorf("the message does not contain %q: %s", word, message)
	}
	if count := s.untouched(before); count != 2 {
		s.T.Errorf("%d pods serve as before, want 2", count)
	}
}

// rollsBack checks that all pods are back at version 1. In place, they have the same UID and address.
func (s *space) rollsBack(before []corev1.Pod, word, way string) {
	s.T.Helper()
	if message := s.awaitReason(v1.ConditionReady, v1.ReasonRolledBack); !strings.Contains(message, word) {
		s.T.Errorf("the message does not contain %q: %s", word, message)
	}
	s.Await("3 pods to be available", func() (any, bool) {
		manager := s.manager()
		return harness.Brief(manager), manager.Status.AvailableReplicas == 3
	})
	s.answers("1")
	if count := s.untouched(before); count != 2 {
		s.T.Errorf("%d pods were left alone, want 2", count)
	}
	same := 0
	for _, pod := range s.pods() {
		for _, was := range before {
			if pod.UID == was.UID && pod.Status.PodIP == was.Status.PodIP {
				same++
			}
		}
	}
	if want := map[string]int{"in place": 3, "replaced": 2}[way]; same != want {
		s.T.Errorf("%d pods are the same as before, want %d", same, want)
	}
}
