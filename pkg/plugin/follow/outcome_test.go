package follow_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plugin/follow"
)

// condition returns one condition of web.
func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "so it is"}
}

func TestOf(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return condition(v1.ConditionReady, status, reason)
	}
	yes, no := metav1.ConditionTrue, metav1.ConditionFalse
	stalled := condition(v1.ConditionStalled, yes, v1.ReasonHalted)
	tests := map[string]struct {
		observed   int64
		conditions []metav1.Condition
		change     func(*v1.PodManager)
		want       Outcome
		code       int
		line       string
	}{
		"never seen":        {-1, nil, nil, UnderWay, 1, "web: Unobserved: no controller has reported on it yet"},
		"changed since":     {6, []metav1.Condition{ready(yes, v1.ReasonAllAvailable)}, nil, UnderWay, 1, "web: Unobserved (3 wanted, 2 updated, 1 available): the controller has not seen generation 7 yet"},
		"under way":         {7, []metav1.Condition{ready(no, v1.ReasonRollingOut)}, nil, UnderWay, 1, "web: RollingOut (3 wanted, 2 updated, 1 available): so it is"},
		"halted, for now":   {7, []metav1.Condition{ready(no, v1.ReasonHalted)}, nil, UnderWay, 1, "web: RolloutHalted (3 wanted, 2 updated, 1 available): so it is"},
		"halted for good":   {7, []metav1.Condition{ready(no, v1.ReasonHalted), stalled}, nil, Failed, 3, "web: RolloutHalted (3 wanted, 2 updated, 1 available): so it is"},
		"rolling back":      {7, []metav1.Condition{ready(no, v1.ReasonRolledBack)}, nil, Failed, 3, "web: RolledBack (3 wanted, 2 updated, 1 available): so it is"},
		"paused":            {7, []metav1.Condition{ready(no, v1.ReasonPaused)}, nil, Held, 4, "web: Paused (3 wanted, 2 updated, 1 available): so it is"},
		"partition reached": {7, []metav1.Condition{ready(yes, v1.ReasonPartition)}, nil, Held, 4, "web: PartitionReached (3 wanted, 2 updated, 1 available): so it is"},
		"on delete":         {7, []metav1.Condition{ready(yes, v1.ReasonUpdateOnDelete)}, nil, Held, 4, "web: UpdateOnDelete (3 wanted, 2 updated, 1 available): so it is"},
		"baking":            {7, []metav1.Condition{ready(yes, v1.ReasonBaking)}, nil, Baking, 0, "web: Baking (3 wanted, 2 updated, 1 available): so it is"},
		"done":              {7, []metav1.Condition{ready(yes, v1.ReasonAllAvailable)}, nil, Done, 0, "web: AllReplicasAvailable (3 wanted, 2 updated, 1 available): so it is"},
		"being deleted":     {7, []metav1.Condition{ready(no, v1.ReasonTerminating)}, plantest.Deleting, Deleted, 1, "web: Terminating (3 wanted, 2 updated, 1 available): so it is"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := plantest.Manager(3)
			m.Status = v1.PodManagerStatus{ObservedGeneration: test.observed, Conditions: test.conditions, UpdatedReplicas: 2, AvailableReplicas: 1}
			if test.change != nil {
				test.change(m)
			}
			if got := OutcomeFor(m); got != test.want || got.ExitCode(false) != test.code {
				t.Errorf("outcome %d, exit code %d", got, got.ExitCode(false))
			}
			if got := Line(m); got != test.line {
				t.Errorf("got  %s\nwant %s", got, test.line)
			}
		})
	}
	if code := Held.ExitCode(true); code != 0 {
		t.Errorf("with --held-ok: %d", code)
	}
}
