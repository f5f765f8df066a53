//go:build e2e

package core

import (
	"fmt"
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func rollback() string {
	return careful() + fmt.Sprintf("failurePolicy: {onFailure: Rollback, gracePeriodSeconds: %d}", rollbackGrace)
}

const (
	rollbackGrace = 5
	// budget is the budget of the rollouts below.
	budget        = "maxSurge: 3, maxUnavailable: 2"
	inPlaceBudget = "maxSurge: 0, maxUnavailable: 2, podUpdatePolicy: InPlaceIfPossible"
)

// awaitRolledBack waits until all pods have the good image again and are available, and the status reports why.
func (s *space) awaitRolledBack(replicas int, why string) *v1.PodManager {
	s.T.Helper()
	var manager *v1.PodManager
	s.AwaitFor(2*harness.Patience, "all pods to be back", func() (any, bool) {
		manager = s.Manager("web")
		status, count := manager.Status, int32(replicas)
		pods := s.Pods()
		return fmt.Sprintf("%d of %d pods are good; %s", len(ofImage(pods, good)), len(pods), harness.Brief(manager)),
			len(ofImage(pods, good)) == replicas && len(pods) == replicas && status.FailedRevision == status.UpdateRevision &&
				status.CurrentRevision != status.UpdateRevision && status.Replicas == count && status.CurrentReplicas == count &&
				status.AvailableReplicas == count && status.UpdatedReplicas == 0 && status.ObservedGeneration == manager.Generation
	})
	words := fmt.Sprintf("revision %s has failed and is rolled back to %s: %s", manager.Status.UpdateRevision, manager.Status.CurrentRevision, why)
	s.awaitCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonRolledBack, "^"+words)
	s.awaitCondition(v1.ConditionProgressing, metav1.ConditionFalse, v1.ReasonRolledBack, "^"+words)
	s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonRolledBack, fmt.Sprintf("^%[1]d of %[1]d pods? available; %[2]s", replicas, words))
	return manager
}

// What the status reports about the images crashing and missing.
const (
	crashWords   = `web-\d+: container app: (CrashLoopBackOff: )?Error, exit code 1$`
	missingWords = `web-\d+: container app: (ErrImagePull|ImagePullBackOff): `
)

// stays checks that an action changes neither a pod nor the status.
func (s *space) stays(what string, do func()) {
	s.T.Helper()
	pods, status := versions(s.Pods()), harness.Brief(s.Manager("web"))
	do()
	harness.Steadily(s.T, 1500*time.Millisecond, what, func() (any, bool) {
		now, manager := versions(s.Pods()), s.Manager("web")
		return fmt.Sprint(now, harness.Brief(manager)), maps.Equal(now, pods) && harness.Brief(manager) == status
	})
}

// If pods crash, the rollout is rolled back, soon and within the budget. The spec does not change. A scale does not end the rollback, but a new
// template does.
func TestRollback(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]string{"by replacing": budget, "in place": inPlaceBudget} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			controller := s.private()
			s.applyPrivate("web", risky(10, limits, rollback(), good))
			s.awaitReady("web", 10)
			before := uids(s.Pods())
			w := s.WatchPods()
			s.applyPrivate("web", risky(10, limits, rollback(), crashing))
			manager := s.awaitRolledBack(10, crashWords)
			took := time.Since(firstFailure(w.Past(), crashing))
			t.Logf("back %v after the first failure", took)
			if took < (rollbackGrace-1)*time.Second || took > rollbackGrace*time.Second+harness.Scaled(30*time.Second) {
				t.Errorf("the rollback took %v from the first failure, want %d s and little more", took, rollbackGrace)
			}
			w.Always(within(8, 13, servesImage(good)))
			if name == "in place" && !maps.Equal(uids(s.Pods()), before) {
				t.Errorf("the pods are not the same: %v before, %v now", before, uids(s.Pods()))
			}
			if manager.Generation != 2 || manager.Spec.Image != crashing {
				t.Errorf("the spec was changed: generation %d, image %s", manager.Generation, manager.Spec.Image)
			}

			s.stays("the same spec is applied", func() { s.applyPrivate("web", risky(10, limits, rollback(), crashing)) })
			s.stays("a user annotates the PodManager", func() { s.Kubectl("annotate", "pm/web", "a=b") })
			s.stays("the controller is restarted", func() { controller = s.restart(controller) })
			s.Kubectl("scale", "pm/web", "--replicas=11")
			s.awaitRolledBack(11, crashWords)

			s.applyPrivate("web", risky(11, limits, "minReadySeconds: 0, failurePolicy: {onFailure: Rollback}", better))
			manager = s.awaitReady("web", 11)
			if manager.Status.FailedRevision != "" || len(ofImage(s.Pods(), better)) != 11 || s.Condition("web", v1.ConditionStalled).Type != "" {
				t.Errorf("a new template has not started afresh: %s", harness.Brief(manager))
			}
			for _, reason := range []string{v1.EventHalted, v1.EventRolledBack} {
				s.Await("one warning "+reason, func() (any, bool) {
					count, notes := s.warnings("web", reason)
					return notes, count == 1
				})
			}
		})
	}
}

// After a rollback, a user returns to the old template, which touches no pod. If the user then applies the bad template again, it is tried again.
func TestRollbackIsForgotten(t *testing.T) {
	s := newSpace(t)
	policy := "failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}"
	s.apply("web", risky(4, budget, policy, good))
	s.awaitReady("web", 4)
	s.apply("web", risky(4, budget, policy, missing))
	s.awaitRolledBack(4, missingWords)
	before := versions(s.Pods())
	s.apply("web", risky(4, budget, policy, good))
	if manager := s.awaitReady("web", 4); manager.Status.FailedRevision != "" {
		t.Errorf("the failed revision is left: %s", harness.Brief(manager))
	}
	if now := versions(s.Pods()); !maps.Equal(now, before) {
		t.Errorf("pods were touched: %v before, %v now", before, now)
	}
	s.apply("web", risky(4, budget, policy, missing))
	s.Await("the bad template to be tried again", func() (any, bool) {
		bad := ofImage(s.Pods(), missing)
		return podNames(bad), len(bad) > 0
	})
	s.awaitRolledBack(4, missingWords)
	s.Await("events about both rollbacks", func() (any, bool) {
		count, notes := s.warnings("web", v1.EventRolledBack)
		return notes, count == 2
	})
}

// A rollback requires failureThreshold failed pods. A percentage is rounded down.
func TestRollbackFailureThreshold(t *testing.T) {
	s := newSpace(t)
	policy := careful() + "failurePolicy: {onFailure: Rollback, failureThreshold: 39%, gracePeriodSeconds: 1}"
	two, three := "maxSurge: 0, maxUnavailable: 2", "maxSurge: 0, maxUnavailable: 3"
	s.apply("web", risky(10, two, policy, good))
	s.awaitReady("web", 10)
	w := s.WatchPods()
	s.apply("web", risky(10, two, policy, crashing))
	s.Await("two pods to have crashed twice", func() (any, bool) {
		twice, bad := 0, ofImage(s.Pods(), crashing)
		for _, pod := range bad {
			for _, status := range pod.Status.ContainerStatuses {
				twice += int(min(1, status.RestartCount/2))
			}
		}
		return podNames(bad), twice == 2
	})
	if got := s.Condition("web", v1.ConditionReady); got.Reason != v1.ReasonRollingOut || s.Condition("web", v1.ConditionStalled).Type != "" {
		t.Errorf("two failing pods have halted the rollout, although failureThreshold allows them: %+v", got)
	}
	w.Always(within(8, 10, servesImage(good)))
	s.apply("web", risky(10, three, policy, crashing))
	s.awaitRolledBack(10, crashWords)
	w.Always(within(7, 10, servesImage(good)))
}

// Pods that neither fail nor become ready are rolled back after the deadline.
func TestRollbackDeadline(t *testing.T) {
	s := newSpace(t)
	policy := "progressDeadlineSeconds: 4, failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}"
	s.apply("web", risky(4, budget, policy, good))
	s.awaitReady("web", 4)
	w := s.WatchPods()
	began := time.Now()
	s.apply("web", risky(4, budget, policy, neverReady))
	s.awaitRolledBack(4, "its pods did not become available in time; web-[0-9]+: container app: not ready$")
	if took := time.Since(began); took < 3*time.Second {
		t.Errorf("the rollback came after only %v", took)
	}
	w.Always(within(2, 7, servesImage(good)))
}

// The controller is killed when the status has the failed revision, or during the rollback. The next controller continues.
func TestRollbackSurvivesCrash(t *testing.T) {
	t.Parallel()
	for name, passed := range map[string]int{"before the first pod": 0, "in the middle": 2} {
		t.Run(name, func(t *testing.T) {
			f := newFaulty(t)
			policy := "failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}"
			f.applyPrivate("web", risky(10, budget, policy, good))
			f.awaitReady("web", 10)
			w := f.WatchPods()
			f.applyPrivate("web", risky(10, budget, policy, missing))
			f.Await("all pods that may be bad", func() (any, bool) { n := len(ofImage(f.Pods(), missing)); return n, n == 5 })
			deletes := 0 // the proxy calls Match for one request at a time
			f.answer("refused", 503, func(r faults.Request) bool {
				if !f.own("delete", "pods")(r) {
					return false
				}
				deletes++
				return deletes > passed
			})
			f.Await("the rollback to be stopped", func() (any, bool) {
				bad := ofImage(f.Pods(), missing)
				return podNames(bad), f.proxy.Count("refused") > 0 && len(bad) == 5-passed
			})
			kill(t, f.controller)
			if manager := f.Manager("web"); manager.Status.FailedRevision != manager.Status.UpdateRevision {
				t.Fatalf("pods are deleted before the status names the failed revision: %s", harness.Brief(manager))
			}
			f.private()
			f.awaitRolledBack(10, missingWords)
			w.Always(within(8, 13, servesImage(good)))
		})
	}
}
