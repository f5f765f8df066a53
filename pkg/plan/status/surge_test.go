package status_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	. "github.com/mycompany/podmanager/pkg/plan/status"
)

// unplaced makes a pod look as if the scheduler has found no node for it for this long.
func unplaced(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		Phase(corev1.PodPending)(p)
		OnNode("")(p)
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/5 nodes are available: 5 Insufficient cpu.", LastTransitionTime: metav1.NewTime(Now.Add(-ago)),
		}}
	}
}

// If a rollout waits for a surge pod that has no node, Ready says so after two minutes, and what the user can do. There is a single event about it.
func TestSurgeBlocked(t *testing.T) {
	none, one := Limits("1", "0"), Limits("1", "1")
	quota := &requeue.Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonForbidden, Message: `pods "web-3" is forbidden: exceeded quota: small, requested: pods=1`}
	tests := map[string]struct {
		observed plan.Observed
		failure  *requeue.Failure
		blocked  bool          // by a pod without a node
		wayOut   bool          // is in the message of Ready
		again    time.Duration // until the status changes
	}{
		"for two minutes":        {observed: RollingOut(Next(3, none), Pod(0), Pod(1), Pod(2), Pod(3, V2, unplaced(2*time.Minute))), blocked: true, wayOut: true},
		"for less":               {observed: RollingOut(Next(3, none), Pod(0), Pod(1), Pod(2), Pod(3, V2, unplaced(90*time.Second))), again: 30 * time.Second},
		"a pod may be missing":   {observed: RollingOut(Next(3, one), Pod(0), Pod(1), Pod(2), Pod(3, V2, unplaced(2*time.Minute)))},
		"it is no surge pod":     {observed: RollingOut(Next(4, none), Pod(0), Pod(1), Pod(2), Pod(3, V2, unplaced(2*time.Minute)))},
		"no rollout":             {observed: Observe(Manager(3, none), Pod(0), Pod(1), Pod(2), Pod(3, unplaced(2*time.Minute)))},
		"paused":                 {observed: RollingOut(Next(3, none, func(m *v1.PodManager) { m.Spec.Paused = true }), Pod(0), Pod(1), Pod(2), Pod(3, V2, unplaced(2*time.Minute)))},
		"a quota":                {observed: RollingOut(Next(3, none), Pod(0), Pod(1), Pod(2)), failure: quota, wayOut: true},
		"a quota for a scale-up": {observed: RollingOut(Next(4, none), Pod(0), Pod(1), Pod(2)), failure: quota},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			decided := plan.Make(test.observed)
			report := decided.Report(test.observed.Manager, test.observed.Pods, false, Now)
			report.Failure = test.failure
			told, again := Compute(report)
			message := MessageIn(&told, v1.ConditionReady)
			if got := ReasonIn(&told, v1.ConditionReady) == v1.ReasonSurgeBlocked; got != test.blocked {
				t.Errorf("Ready is %s: %s", ReasonIn(&told, v1.ConditionReady), message)
			}
			if got := strings.Contains(message, "maxUnavailable: 1"); got != test.wayOut {
				t.Errorf("message %q", message)
			}
			if test.blocked && (!strings.Contains(message, "Insufficient cpu") || ReasonIn(&told, v1.ConditionProgressing) != v1.ReasonRollingOut) {
				t.Errorf("message %q, Progressing is %s", message, ReasonIn(&told, v1.ConditionProgressing))
			}
			if test.again > 0 && Until(again) != test.again {
				t.Errorf("again after %v, want %v", Until(again), test.again)
			}
			warned := 0
			for _, before := range []*v1.PodManagerStatus{&test.observed.Manager.Status, &told} {
				for _, step := range Transitions(test.observed.Manager, before, &told) {
					if step.Reason == v1.EventSurgeBlocked {
						warned++
					}
				}
			}
			if want := map[bool]int{true: 1}[test.blocked]; warned != want {
				t.Errorf("%d events, want %d", warned, want)
			}
		})
	}
}
