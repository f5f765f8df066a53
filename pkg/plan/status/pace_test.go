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
	failed := ready(1, "False")
	failed.FailedRevision = "web-1"
	starting := ready(1, "False")
	starting.Replicas = 3
	waiting := func(ago time.Duration) Pace { return Pace{pending: now.Add(-ago)} }
	tests := map[string]struct {
		pace        Pace
		acted       bool
		failure     *requeue.Failure
		congestion  time.Duration
		old, status v1.PodManagerStatus
		want        time.Duration
		urgent      bool // more so than the statuses of other PodManagers
	}{
		"a user's change is answered at once": {
			pace: Pace{written: now}, acted: true, old: ready(1, "True"), status: ready(2, "False"), urgent: true,
		},
		"a new object's first status waits for firstStatus": {
			acted: true, old: ready(-1, ""), status: ready(1, "False"), want: firstStatus,
		},
		"a new object's first status waits for the rest of firstStatus": {
			pace: waiting(900 * time.Millisecond), old: ready(-1, ""), status: ready(1, "False"), want: 100 * time.Millisecond,
		},
		"a new object's first status waits no longer than firstStatus": {
			pace: waiting(time.Second), acted: true, old: ready(-1, ""), status: ready(1, "False"),
		},
		"a new object's first status waits longer if the API server is busy": {
			acted: true, congestion: 100 * time.Millisecond, old: ready(-1, ""), status: starting, want: 5 * time.Second,
		},
		"a new object's first status waits no longer if all its pods are ready": {
			congestion: 100 * time.Millisecond, old: ready(-1, ""), status: ready(1, "False"), want: firstStatus,
		},
		"a new object that is Ready is written at once": {
			pace: waiting(0), old: ready(-1, ""), status: ready(1, "True"),
		},
		"a failure is written at once": {
			pace: Pace{written: now}, acted: true, failure: &requeue.Failure{}, old: ready(1, "True"), status: ready(1, "False"), urgent: true,
		},
		"a failed revision is written at once: no pod is rolled back before": {
			pace: Pace{written: now}, acted: true, old: ready(1, "False"), status: failed, urgent: true,
		},
		"after acting on pods the status waits for statusSettle": {
			acted: true, old: ready(1, "True"), status: ready(1, "False"), want: statusSettle,
		},
		"after acting on pods the status waits for the rest of statusSettle": {
			pace: Pace{settling: now.Add(100 * time.Millisecond)}, old: ready(1, "True"), status: ready(1, "False"), want: 100 * time.Millisecond,
		},
		"after acting on pods again and again the status waits for statusInterval": {
			pace: waiting(time.Second), acted: true, old: ready(1, "True"), status: ready(1, "False"),
		},
		"news are written at once": {
			pace: Pace{written: now}, old: ready(1, "False"), status: ready(1, "True"),
		},
		"counts can wait": {
			pace: Pace{written: now.Add(-400 * time.Millisecond)}, old: ready(1, "False"), status: ready(1, "False"), want: 600 * time.Millisecond,
		},
		"counts wait longer if the API server is busy": {
			pace: Pace{written: now.Add(-500 * time.Millisecond)}, congestion: 50 * time.Millisecond, old: ready(1, "False"), status: ready(1, "False"), want: 2 * time.Second,
		},
		"counts wait for maxStatusInterval at the most": {
			pace: Pace{written: now}, congestion: time.Minute, old: ready(1, "False"), status: ready(1, "False"), want: maxStatusInterval,
		},
		"counts that were written long ago need not wait": {
			pace: Pace{written: now.Add(-time.Hour)}, old: ready(1, "False"), status: ready(1, "False"),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := IsUrgent(&test.old, &test.status, test.failure); got != test.urgent {
				t.Errorf("urgent %v, want %v", got, test.urgent)
			}
			if got := test.pace.Wait(&test.old, &test.status, test.acted, test.failure, test.congestion, now); got != test.want {
				t.Errorf("wait %v, want %v", got, test.want)
			}
			if isWritten := test.pace.written.Equal(now); test.want == 0 && !isWritten {
				t.Error("the time of the write is not remembered")
			}
		})
	}
}

// A status that was put off again and again is late in the end, and no longer so once it is written.
func TestLateStatus(t *testing.T) {
	now := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	var pace Pace
	for after, want := range map[time.Duration]bool{0: false, lateStatus - time.Millisecond: false, lateStatus: true} {
		pace = Pace{pending: now}
		if got := pace.IsLate(now.Add(after)); got != want {
			t.Errorf("late after %v: %t, want %t", after, got, want)
		}
	}
	old, status := &v1.PodManagerStatus{ObservedGeneration: 1}, &v1.PodManagerStatus{ObservedGeneration: 1, ReadyReplicas: 1}
	pace = Pace{}
	pace.IsLate(now) // the first look notes that there is something to write
	if later := now.Add(time.Minute); !pace.IsLate(later) || pace.Wait(old, status, false, nil, 0, later) != 0 || pace.IsLate(later) {
		t.Errorf("%+v is not late after a minute, or still late after the write", pace)
	}
}
