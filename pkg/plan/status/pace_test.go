package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

func TestStatusPace(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ready := func(generation int64, truth metav1.ConditionStatus) v1.PodManagerStatus {
		return v1.PodManagerStatus{ObservedGeneration: generation, Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: truth}}}
	}
	with := func(status v1.PodManagerStatus, change func(*v1.PodManagerStatus)) v1.PodManagerStatus {
		change(&status)
		return status
	}
	available := func(truth metav1.ConditionStatus) v1.PodManagerStatus {
		return with(ready(1, "False"), func(s *v1.PodManagerStatus) {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: v1.ConditionAvailable, Status: truth})
		})
	}
	terminating := func(truth metav1.ConditionStatus, pods int32) v1.PodManagerStatus {
		return with(ready(1, truth), func(s *v1.PodManagerStatus) { s.TerminatingReplicas = pods })
	}
	tests := map[string]struct {
		written     time.Duration // ago
		failure     *requeue.Failure
		old, status v1.PodManagerStatus
		want        time.Duration
	}{
		"a user's change":                              {old: ready(1, "True"), status: ready(2, "True")},
		"a failure":                                    {failure: &requeue.Failure{}, old: ready(1, "False"), status: ready(1, "False")},
		"a failed revision":                            {old: ready(1, "False"), status: with(ready(1, "False"), func(s *v1.PodManagerStatus) { s.FailedRevision = "web-1" })},
		"a good revision":                              {old: ready(1, "False"), status: with(ready(1, "False"), func(s *v1.PodManagerStatus) { s.CurrentRevision = "web-1" })},
		"becoming Ready":                               {old: ready(1, "False"), status: ready(1, "True")},
		"another reason of not being Ready":            {old: ready(1, "False"), status: with(ready(1, "False"), func(s *v1.PodManagerStatus) { s.Conditions[0].Reason = v1.ReasonHalted })},
		"not being available":                          {old: available("True"), status: available("False")},
		"the last pod is gone":                         {old: terminating("True", 1), status: terminating("True", 0)},
		"a pod is gone":                                {old: terminating("True", 2), status: terminating("True", 1), want: statusInterval},
		"the last pod is gone, and not all done":       {old: terminating("False", 1), status: terminating("False", 0), want: statusInterval},
		"enough pods are available, but not all":       {old: available("False"), status: available("True"), want: statusInterval},
		"counts":                                       {written: time.Second, old: ready(1, "False"), status: ready(1, "False"), want: statusInterval - time.Second},
		"counts, and the last status is from long ago": {written: statusInterval, old: ready(1, "False"), status: ready(1, "False")},
		"counts, and the clock was set back":           {written: -time.Hour, old: ready(1, "False"), status: ready(1, "False")},
		"a new object":                                 {old: ready(-1, ""), status: ready(1, "False"), want: statusInterval},
		"a new object that does not become Ready":      {written: statusInterval, old: ready(-1, ""), status: ready(1, "False")},
		"a new object that is Ready":                   {old: ready(-1, ""), status: ready(1, "True")},
		"a new object that needs a user to be Ready": {old: ready(-1, ""), status: with(ready(1, "False"), func(s *v1.PodManagerStatus) {
			s.Conditions[0] = metav1.Condition{Type: v1.ConditionStalled, Status: "True"}
		})},
		"a new object whose pods the API server refuses": {failure: &requeue.Failure{}, old: ready(-1, ""), status: ready(1, "False")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var pace Pace
			pace.Wrote(now.Add(-test.written))
			if got := pace.Wait(&test.old, &test.status, test.failure, now); got != test.want {
				t.Errorf("wait %v, want %v", got, test.want)
			}
		})
	}
}

// The delay for a new object begins when the controller first sees it, and later syncs do not extend it.
func TestFirstStatusComes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	old, status := &v1.PodManagerStatus{ObservedGeneration: -1}, &v1.PodManagerStatus{ObservedGeneration: 1}
	var pace Pace
	for _, after := range []time.Duration{0, time.Second, statusInterval - 1, statusInterval} {
		if got := pace.Wait(old, status, nil, now.Add(after)); got != statusInterval-after {
			t.Errorf("wait %v after %v, want %v", got, after, statusInterval-after)
		}
	}
}

// A controller that has just started writes a changed status at once: the counts that the previous controller wrote may be outdated.
func TestCountsAfterStart(t *testing.T) {
	old, status := &v1.PodManagerStatus{ObservedGeneration: 1}, &v1.PodManagerStatus{ObservedGeneration: 1, ReadyReplicas: 1}
	if got := new(Pace).Wait(old, status, nil, time.Now()); got != 0 {
		t.Errorf("wait %v, want none", got)
	}
}
