//go:build e2e

package core

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The first release serves, but a crashing release replaces it before it has proved itself. The controller still rolls back to the first release.
// The loss of the status does not start the failed release again.
func TestFirstReleaseIsReturnedTo(t *testing.T) {
	s := newSpace(t)
	policy := careful() + fmt.Sprintf("failurePolicy: {onFailure: Rollback, gracePeriodSeconds: %d, bakeSeconds: 3600}", rollbackGrace)
	s.apply("web", risky(4, budget, policy, good))
	s.awaitReady("web", 4)
	s.apply("web", risky(4, budget, policy, crashing))
	failed := s.awaitRolledBack(4, crashWords).Status.FailedRevision
	for _, r := range s.revisions("web") {
		if hasFailed, isGood := r.Annotations[v1.AnnotationFailed] != "", r.Annotations[v1.AnnotationGood] != ""; hasFailed != (r.Name == failed) || isGood == hasFailed {
			t.Errorf("revision %s has the annotations %v", r.Name, r.Annotations)
		}
	}
	pods := versions(s.Pods())
	s.patchManager("web", `{"status": null}`, "status")
	s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonRolledBack, failed)
	if now := versions(s.Pods()); fmt.Sprint(now) != fmt.Sprint(pods) {
		t.Errorf("the pods were %v, and are %v since the status was lost", pods, now)
	}
}

// A failure belongs to the revision. Deleting the failing pod, or scaling it away, does not end the halt.
func TestHaltOutlivesItsPods(t *testing.T) {
	s := newSpace(t)
	policy := careful() + "failurePolicy: {onFailure: Halt, gracePeriodSeconds: 2, bakeSeconds: 0}"
	s.apply("web", risky(4, "maxSurge: 1, maxUnavailable: 0", policy, good))
	s.awaitReady("web", 4)
	s.awaitCurrent()
	s.apply("web", risky(4, "maxSurge: 1, maxUnavailable: 0", policy, crashing))
	s.awaitCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonHalted, crashWords)
	for range 2 {
		for _, pod := range ofImage(s.Pods(), crashing) {
			s.deletePod(pod.Name)
		}
		s.awaitCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonHalted, "halted with 1 pod updated")
	}
	s.apply("web", risky(3, "maxSurge: 0, maxUnavailable: 1", policy, crashing))
	s.awaitCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonHalted, "")
	if pods := s.Pods(); len(ofImage(pods, good)) < 3 {
		t.Errorf("%d of %d pods are good, want 3", len(ofImage(pods, good)), len(pods))
	}
}
