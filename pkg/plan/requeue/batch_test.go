package requeue

import (
	"testing"
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestBatchPeriod(t *testing.T) {
	tests := map[string]struct {
		desired, replicas, terminating int32
		want                           time.Duration
	}{
		"few pods: at once":          {desired: 99},
		"many pods: together":        {desired: 1000, want: 200 * time.Millisecond},
		"terminating pods count":     {replicas: 400, terminating: 600, want: 200 * time.Millisecond},
		"never longer than a second": {desired: 100_000, want: time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := &v1.PodManager{Spec: v1.PodManagerSpec{Replicas: &test.desired}}
			m.Status.Replicas, m.Status.TerminatingReplicas = test.replicas, test.terminating
			if got := BatchPeriod(m); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
