//go:build e2e

package core

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// awaitCounted waits until a controller has counted exactly these rollouts, and checks that it counts no more.
func (s *space) awaitCounted(p *lab.Process, want map[string]float64) {
	s.T.Helper()
	check := func() (any, bool) {
		seen, ok := "", true
		for _, result := range []string{"completed", "halted", "rolled_back", "deadline", "superseded"} {
			labels := fmt.Sprintf("result=%q", result)
			count, timed := metric(s.T, p, "podmanager_rollouts_total", labels), metric(s.T, p, "podmanager_rollout_duration_seconds_count", labels)
			seen += fmt.Sprintf("%s %v, %v of them timed; ", result, count, timed)
			ok = ok && count == want[result] && timed == want[result]
		}
		return seen + harness.Brief(s.Manager("web")), ok
	}
	s.Await(fmt.Sprintf("the rollouts counted to be %v", want), check)
	harness.Steadily(s.T, time.Second, "no rollout is counted again", check)
}

// Each rollout is counted once, by what ended it first. The first revision is not a rollout, and another controller does not count a rollout again.
func TestRolloutsCounted(t *testing.T) {
	s := newSpace(t)
	controller := s.private()
	limits, brisk, careless := "maxSurge: 0, maxUnavailable: 1", "failurePolicy: {gracePeriodSeconds: 0}", "failurePolicy: {onFailure: Continue, gracePeriodSeconds: 0}, "
	s.applyPrivate("web", risky(2, limits, brisk, good))
	s.awaitCurrent()
	s.awaitCounted(controller, nil)
	s.applyPrivate("web", risky(2, limits, brisk, better))
	s.awaitCurrent()
	s.awaitCounted(controller, map[string]float64{"completed": 1})
	s.applyPrivate("web", risky(2, limits, brisk, neverReady))
	s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonRollingOut, "")
	s.applyPrivate("web", risky(2, limits, brisk, good))
	s.awaitCurrent()
	s.awaitCounted(controller, map[string]float64{"completed": 2, "superseded": 1})

	controller = s.restart(controller)
	s.awaitCounted(controller, nil)
	s.applyPrivate("web", risky(2, limits, careless+"progressDeadlineSeconds: 2", neverReady))
	s.awaitCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonDeadline, "")
	want := map[string]float64{"deadline": 1}
	s.awaitCounted(controller, want)

	controller = s.restart(controller)
	s.applyPrivate("web", risky(2, limits, "failurePolicy: {gracePeriodSeconds: 1}", missing)) // replaces a rollout that was counted already
	s.awaitCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonHalted, "")
	s.awaitCounted(controller, map[string]float64{"halted": 1})
	const otherMissing = "other:does-not-exist"
	backward := "failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}"
	s.applyPrivate("web", risky(2, limits, backward, missing))
	s.awaitCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonRolledBack, "")
	s.awaitCounted(controller, map[string]float64{"halted": 1})
	s.applyPrivate("web", risky(2, limits, backward, otherMissing))
	s.Await("the other revision to fail", func() (any, bool) {
		status := s.Manager("web").Status
		return status, status.FailedRevision == status.UpdateRevision && status.Image == otherMissing
	})
	s.awaitCounted(controller, map[string]float64{"halted": 1, "rolled_back": 1})
}

// awaitCurrent waits until the spec's revision is the current one, to which a rollback would return.
func (s *space) awaitCurrent() {
	s.T.Helper()
	s.Await("the revision to be good", func() (any, bool) {
		manager := s.Manager("web")
		status := manager.Status
		return harness.Brief(manager), status.ObservedGeneration == manager.Generation && status.CurrentRevision != "" && status.CurrentRevision == status.UpdateRevision
	})
}
