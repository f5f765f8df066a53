package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestStatusPace(t *testing.T) {
	ready := func(generation int64, truth metav1.ConditionStatus) v1.PodManagerStatus {
		return v1.PodManagerStatus{ObservedGeneration: generation, Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: truth}}}
	}
	failed := ready(1, "False")
	failed.FailedRevision = "web-1"
	starting := ready(1, "False")
	starting.Replicas = 3
	waiting := func(ago time.Duration) StatusPace { return StatusPace{pending: now.Add(-ago)} }
	tests := map[string]struct {
		pace        StatusPace
		acted       bool
		failure     *Failure
		latency     time.Duration
		old, status v1.PodManagerStatus
		want        time.Duration
	}{
		"a user's change is answered at once": {
			pace: StatusPace{written: now}, acted: true, old: ready(1, "True"), status: ready(2, "False"),
		},
		"a new object's pods are given a moment": {
			acted: true, old: ready(-1, ""), status: ready(1, "False"), want: statusFirst,
		},
		"and for all of it, though one is there": {
			pace: waiting(900 * time.Millisecond), old: ready(-1, ""), status: ready(1, "False"), want: 100 * time.Millisecond,
		},
		"but no longer, whatever is still done": {
			pace: waiting(time.Second), acted: true, old: ready(-1, ""), status: ready(1, "False"),
		},
		"a longer one where the API server is busy": {
			acted: true, latency: 100 * time.Millisecond, old: ready(-1, ""), status: starting, want: 5 * time.Second,
		},
		"but not if they are ready, and something else is to be waited for": {
			latency: 100 * time.Millisecond, old: ready(-1, ""), status: ready(1, "False"), want: statusFirst,
		},
		"when all are there, there is no more to wait for": {
			pace: waiting(0), old: ready(-1, ""), status: ready(1, "True"),
		},
		"a failure is told at once": {
			pace: StatusPace{written: now}, acted: true, failure: &Failure{}, old: ready(1, "True"), status: ready(1, "False"),
		},
		"and a revision that has failed, for nothing is undone before that is written": {
			pace: StatusPace{written: now}, acted: true, old: ready(1, "False"), status: failed,
		},
		"pods that were just made are given a moment": {
			acted: true, old: ready(1, "True"), status: ready(1, "False"), want: statusSettle,
		},
		"and for all of it": {
			pace: StatusPace{settling: now.Add(100 * time.Millisecond)}, old: ready(1, "True"), status: ready(1, "False"), want: 100 * time.Millisecond,
		},
		"but not for ever, though more are made": {
			pace: waiting(time.Second), acted: true, old: ready(1, "True"), status: ready(1, "False"),
		},
		"news are told at once": {
			pace: StatusPace{written: now}, old: ready(1, "False"), status: ready(1, "True"),
		},
		"counts can wait": {
			pace: StatusPace{written: now.Add(-400 * time.Millisecond)}, old: ready(1, "False"), status: ready(1, "False"), want: 600 * time.Millisecond,
		},
		"the longer the busier the API server is": {
			pace: StatusPace{written: now.Add(-500 * time.Millisecond)}, latency: 50 * time.Millisecond, old: ready(1, "False"), status: ready(1, "False"), want: 2 * time.Second,
		},
		"within limits": {
			pace: StatusPace{written: now}, latency: time.Minute, old: ready(1, "False"), status: ready(1, "False"), want: statusIntervalMost,
		},
		"counts that were written long ago need not wait": {
			pace: StatusPace{written: now.Add(-time.Hour)}, old: ready(1, "False"), status: ready(1, "False"),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.pace.Wait(&test.old, &test.status, test.acted, test.failure, test.latency, now); got != test.want {
				t.Errorf("wait %v, want %v", got, test.want)
			}
			if isWritten := test.pace.written.Equal(now); test.want == 0 && !isWritten {
				t.Error("that it is written now is not remembered")
			}
		})
	}
}

func TestGatherEvents(t *testing.T) {
	tests := map[string]struct {
		desired, there, ending int32
		want                   time.Duration
	}{
		"few are looked at at once":   {desired: 99},
		"many together":               {desired: 1000, want: 200 * time.Millisecond},
		"also while they go":          {there: 400, ending: 600, want: 200 * time.Millisecond},
		"but nobody waits for a long": {desired: 100_000, want: time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := &v1.PodManager{Spec: v1.PodManagerSpec{Replicas: &test.desired}}
			m.Status.Replicas, m.Status.TerminatingReplicas = test.there, test.ending
			if got := GatherEvents(m); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestHoldsGrow(t *testing.T) {
	var hold Hold
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		hold = hold.Refused(Failure{Message: "no"}, now, 0)
		if got := hold.Until.Sub(now); got != want*time.Second || hold.Failure.Message != "no" {
			t.Errorf("held for %v because of %q, want %v", got, hold.Failure.Message, want*time.Second)
		}
	}
}
