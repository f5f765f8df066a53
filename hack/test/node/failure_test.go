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

// each runs a test for every bad container and every way. Three pods serve version 1 when the bad one is applied.
func each(t *testing.T, action v1.FailureAction, test func(s *space, before []corev1.Pod, word, way string)) {
	t.Parallel()
	for what, fails := range bad {
		for way, limits := range ways {
			t.Run(what+"/"+way, func(t *testing.T) {
				s := newSpace(t)
				s.apply(spec(3, limits, policy(action), web("1", "")))
				s.awaitReady(3)
				s.awaitBaked()
				before := s.pods()
				s.apply(spec(3, limits, policy(action), fails.container))
				test(s, before, fails.word, way)
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

// Halt: one pod fails, and the others keep serving.
func TestHalt(t *testing.T) {
	each(t, v1.HaltOnFailure, func(s *space, before []corev1.Pod, word, _ string) {
		if message := s.awaitReason(v1.ConditionReady, v1.ReasonHalted); !strings.Contains(message, word) {
			s.T.Errorf("the message does not contain %q: %s", word, message)
		}
		if count := s.untouched(before); count != 2 {
			s.T.Errorf("%d pods serve as before, want 2", count)
		}
	})
}

// Rollback: all pods are back at version 1. In place, they have the same UID and address.
func TestRollback(t *testing.T) {
	each(t, v1.RollbackOnFailure, func(s *space, before []corev1.Pod, word, way string) {
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
	})
}

// Continue: failing pods do not stop the rollout, but the limits do: one pod is unavailable, and the next one waits for it.
func TestContinue(t *testing.T) {
	each(t, v1.ContinueOnFailure, func(s *space, before []corev1.Pod, _, way string) {
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
		if count := s.untouched(before); count != 2 {
			s.T.Errorf("%d pods serve as before, want 2", count)
		}
		s.apply(spec(3, ways[way], policy(v1.ContinueOnFailure), web("2", "")))
		s.awaitReady(3)
		s.answers("2")
	})
}
