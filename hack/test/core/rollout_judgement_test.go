//go:build e2e

package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The pods of a revision are ready for a second and then crash. Even if all pods are updated in the meantime, the revision never becomes current,
// and is rolled back.
func TestBakeTime(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 3, 20} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			s := newSpace(t)
			baked := fmt.Sprintf("{replicas: %d, failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 4}, image: '%%s'}", replicas)
			s.apply("web", fmt.Sprintf(baked, better))
			s.Await("the first revision to be good", func() (any, bool) {
				status := s.Manager("web").Status
				return status, status.CurrentRevision != "" && status.CurrentRevision == status.UpdateRevision
			})
			s.apply("web", fmt.Sprintf(baked, good))
			s.awaitCondition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonBaking, "; if they stay available until .*, web-.* becomes the revision that rollbacks return to$")
			s.awaitCondition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonAllAvailable, "available$")
			s.apply("web", fmt.Sprintf(baked, crashing))
			s.awaitRolledBack(replicas, crashWords)
		})
	}
}

// With the default policy, the rollout of a revision that crashes after a second halts, and the status says so.
func TestBakeTimeHalt(t *testing.T) {
	s := newSpace(t)
	baked := "{replicas: 3, failurePolicy: {gracePeriodSeconds: 4}, image: '%s'}"
	s.apply("web", fmt.Sprintf(baked, good))
	s.Await("the first revision to be good", func() (any, bool) {
		status := s.Manager("web").Status
		return status, status.CurrentRevision != "" && status.CurrentRevision == status.UpdateRevision
	})
	s.apply("web", fmt.Sprintf(baked, crashing))
	s.awaitCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonHalted, crashWords)
	if status := s.Manager("web").Status; status.CurrentRevision == status.UpdateRevision {
		t.Error("the crashing revision is the one to return to")
	}
}

// A crash loop before an update in place does not count against the new revision.
func TestFixInPlace(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]string{"crash loop": crashing, "image": missing} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			policy := "failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 2}"
			s.apply("web", risky(2, inPlaceBudget, policy, broken))
			s.Await("the pods to fail", func() (any, bool) {
				pods := s.Pods()
				failing := 0
				for i := range pods {
					for _, status := range pods[i].Status.ContainerStatuses {
						if status.State.Waiting != nil && strings.HasSuffix(status.State.Waiting.Reason, "BackOff") {
							failing++
						}
					}
				}
				return failing, failing == 2
			})
			before := uids(s.Pods())
			s.apply("web", risky(2, inPlaceBudget, policy, good))
			s.awaitReady("web", 2)
			if now := uids(s.Pods()); fmt.Sprint(now) != fmt.Sprint(before) {
				t.Errorf("pods were replaced: %v, before %v", now, before)
			}
			harness.Steadily(s.T, 3*time.Second, "no failure counts against the new revision", func() (any, bool) {
				status := s.Manager("web").Status
				return status, status.FailedRevision == ""
			})
		})
	}
}

// Scaling to zero leaves no pods. A scale-down during a pause leaves the desired number of pods, of both revisions.
func TestScaleDownWhilePaused(t *testing.T) {
	s := newSpace(t)
	limits := "maxSurge: 5, maxUnavailable: 0"
	s.apply("web", risky(6, limits+", partition: 3", "paused: false", good))
	s.awaitReady("web", 6)
	s.apply("web", risky(6, limits+", partition: 3", "paused: false", better))
	s.awaitCondition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonPartition, "3 updated")
	s.apply("web", risky(2, limits, "paused: true", better))
	s.Await("one pod of each revision", func() (any, bool) {
		seen := byImage(s.Pods())
		return seen, seen[good] == 1 && seen[better] == 1 && len(s.Pods()) == 2
	})
	s.apply("web", risky(6, limits, "paused: false", neverReady))
	s.Await("a surge", func() (any, bool) { n := len(s.Pods()); return n, n > 6 })
	s.apply("web", risky(0, limits, "paused: true", neverReady))
	s.Await("no pod", func() (any, bool) { n := len(s.Pods()); return n, n == 0 })
	s.awaitCondition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonScaledToZero, "")
}

// The status reports a setting that can never take effect.
func TestMisconfigured(t *testing.T) {
	s := newSpace(t)
	s.apply("web", risky(4, "maxSurge: 1, maxUnavailable: 1", "failurePolicy: {failureThreshold: 3}", good))
	s.awaitCondition(v1.ConditionMisconfigured, metav1.ConditionTrue, v1.ReasonUnreachable, "failureThreshold is 3 pods, but the rollout updates at most 2 pods at a time")
	s.apply("web", risky(4, "maxSurge: 1, maxUnavailable: 1", "failurePolicy: {failureThreshold: 2}", good))
	s.Await("the condition to go", func() (any, bool) {
		found := s.Condition("web", v1.ConditionMisconfigured)
		return found, found.Type == ""
	})
}
