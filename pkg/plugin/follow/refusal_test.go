package follow_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/plantest"
	. "github.com/mycompany/podmanager/pkg/plugin/follow"
)

// status fails with code 3 whether the rollout has failed or the API server refuses pods, but does not call one the other.
func TestFailure(t *testing.T) {
	const refused = "the API server refuses the pods of web; the controller tries again by itself, within about a minute"
	const failed, stuck = "the rollout of web has failed", "web does not continue until a user acts"
	tests := map[string]struct {
		ready, stalled, failure string
		want                    string
	}{
		"a quota, a ServiceAccount or a webhook": {v1.ReasonForbidden, v1.ReasonForbidden, v1.ReasonFailedCreate, refused},
		"an invalid pod":                         {v1.ReasonInvalidPod, v1.ReasonInvalidPod, v1.ReasonFailedCreate, refused},
		"a revision that cannot be stored":       {v1.ReasonForbidden, v1.ReasonForbidden, v1.ReasonFailedStore, stuck},
		"an update in place that is refused":     {v1.ReasonForbidden, v1.ReasonForbidden, v1.ReasonFailedInPlaceUpdate, stuck},
		"halted":                                 {v1.ReasonHalted, v1.ReasonHalted, "", failed},
		"halted and paused":                      {v1.ReasonPaused, v1.ReasonHalted, "", failed},
		"out of time":                            {v1.ReasonRollingOut, v1.ReasonDeadline, "", failed},
		"being rolled back":                      {v1.ReasonRolledBack, "", "", failed},
		"rolled back":                            {v1.ReasonRolledBack, v1.ReasonRolledBack, "", failed},
		"pods that do not terminate":             {v1.ReasonTooFew, v1.ReasonStuck, "", stuck},
		"not readable":                           {v1.ReasonReadForbidden, v1.ReasonReadForbidden, "", stuck},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := plantest.Manager(3)
			m.Status = v1.PodManagerStatus{ObservedGeneration: 7, Conditions: []metav1.Condition{
				condition(v1.ConditionReady, metav1.ConditionFalse, test.ready),
			}}
			if test.stalled != "" {
				m.Status.Conditions = append(m.Status.Conditions, condition(v1.ConditionStalled, metav1.ConditionTrue, test.stalled))
			}
			if test.failure != "" {
				m.Status.Conditions = append(m.Status.Conditions, condition(v1.ConditionReplicaFailure, metav1.ConditionTrue, test.failure))
			}
			if outcome := OutcomeFor(m); outcome != Failed || outcome.ExitCode(false) != ExitFailed {
				t.Errorf("outcome %d", outcome)
			}
			if got := Failure(m); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
