//go:build e2e

package core

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A new revision does not fail because nodes end its pods, however long their replacements take to start. It fails if a pod fails on its own.
func TestDisruptionsCondemnNobody(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status, told string
		condemned    bool
	}{
		"evicted":                                {status: `{"phase":"Failed","reason":"Evicted","message":"The node was low on memory","conditions":[{"type":"DisruptionTarget","status":"True","reason":"TerminationByKubelet"}]}`, told: "Evicted: The node was low on memory"},
		"evicted, and all containers ended well": {status: `{"phase":"Succeeded"}`, told: "Succeeded: see the events of the pod"},
		"not admitted":                           {status: `{"phase":"Failed","reason":"OutOfcpu","message":"Pod was rejected"}`, told: "OutOfcpu: Pod was rejected"},
		"preempted": {
			status: `{"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler","message":"it made way"}]}`,
			told:   "PreemptionByScheduler: it made way",
		},
		"for more than its own limit": {status: `{"phase":"Failed","reason":"Evicted","message":"Usage of EmptyDir volume exceeds the limit"}`, condemned: true},
		"by itself":                   {status: `{"phase":"Failed"}`, condemned: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			const policy = "failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}, image: "
			s := newSpace(t)
			s.apply("web", rolloutSpec(3, "maxSurge: 0, maxUnavailable: 1", policy+"'app:1'"))
			s.awaitReady("web", 3)
			s.apply("web", rolloutSpec(3, "maxSurge: 0, maxUnavailable: 1", policy+"'app:never-ready'"))
			var updated corev1.Pod
			s.Await("the first updated pod to run", func() (any, bool) {
				pods := ofImage(s.Pods(), "app:never-ready")
				if len(pods) == 1 {
					updated = pods[0]
				}
				return podNames(pods), len(pods) == 1 && updated.Status.Phase == corev1.PodRunning
			})
			s.setPodStatus(updated.Name, test.status)
			if test.condemned {
				s.Await("the revision to be rolled back", func() (any, bool) {
					manager := s.Manager("web")
					return harness.Brief(manager), manager.Status.FailedRevision != ""
				})
				return
			}
			s.Await("the event and the status to report what the node did", func() (any, bool) {
				count, notes := s.warnings("web", v1.EventDisrupted)
				ready := s.Condition("web", v1.ConditionReady)
				want := updated.Name + " was disrupted: " + test.told
				return ready.Message + notes, count == 1 && strings.Contains(notes, want) && strings.Contains(ready.Message, want)
			})
			harness.Steadily(s.T, 4*time.Second, "the rollout goes on", func() (any, bool) {
				manager := s.Manager("web")
				return harness.Brief(manager), manager.Status.FailedRevision == "" && s.Condition("web", v1.ConditionReady).Reason == v1.ReasonRollingOut
			})
			s.apply("web", rolloutSpec(3, "maxSurge: 0, maxUnavailable: 1", policy+"'app:2'"))
			s.awaitReady("web", 3)
		})
	}
}
