package workloads

import (
	"slices"
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	full := sizesAt(1)
	got := []int{full.One, full.Tens, full.Singles, full.Rollout, full.RealNode, full.Managers, full.Growth[2], full.Few * replicasOfMany,
		full.Crowd, full.Updates, full.Events, full.Nodes}
	want := []int{1000, 100, 1000, 200, 20, 1000, 50_000, 100, 10_000, 5000, 100_000, 5000}
	if !slices.Equal(got, want) || full.Idle != time.Minute || full.Grace != time.Minute {
		t.Errorf("at full scale: %+v", full)
	}
	small := sizesAt(0.0001)
	if min(small.One, small.Managers, small.Starts, small.Growth[0]) < 1 || small.RealNode < 4 || small.Growth[1] <= small.Growth[0] {
		t.Errorf("at the smallest scale: %+v", small)
	}
}
