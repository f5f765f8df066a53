package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
)

func TestStatusCanWait(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ready := func(generation int64, truth metav1.ConditionStatus) v1.PodManagerStatus {
		return v1.PodManagerStatus{ObservedGeneration: generation, Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: truth}}}
	}
	acted := outcome{created: []*corev1.Pod{{}}}
	tests := map[string]struct {
		memory   memory
		done     outcome
		old, now v1.PodManagerStatus
		want     time.Duration
	}{
		"a user's change is answered at once": {
			memory: memory{statusWritten: now}, done: acted, old: ready(1, "True"), now: ready(2, "False"), want: 0,
		},
		"a failure, too": {
			memory: memory{statusWritten: now}, done: outcome{created: acted.created, failure: &plan.Failure{}},
			old: ready(1, "True"), now: ready(1, "False"), want: 0,
		},
		"pods that were just made are given a moment": {
			done: acted, old: ready(1, "True"), now: ready(1, "False"), want: statusSettle,
		},
		"and for all of it": {
			memory: memory{settling: now.Add(100 * time.Millisecond)}, old: ready(1, "True"), now: ready(1, "False"), want: 100 * time.Millisecond,
		},
		"news are told at once": {
			memory: memory{statusWritten: now}, old: ready(1, "False"), now: ready(1, "True"), want: 0,
		},
		"counts can wait": {
			memory: memory{statusWritten: now.Add(-400 * time.Millisecond)}, old: ready(1, "False"), now: ready(1, "False"), want: 600 * time.Millisecond,
		},
		"but not for ever": {
			memory: memory{statusWritten: now.Add(-time.Hour)}, old: ready(1, "False"), now: ready(1, "False"), want: 0,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.done.manager = &v1.PodManager{Status: test.old}
			if got := max(0, test.memory.statusCanWait(&test.done, &test.now, now)); got != test.want {
				t.Errorf("wait %v, want %v", got, test.want)
			}
		})
	}
}
