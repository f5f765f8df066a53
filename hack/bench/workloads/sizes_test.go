package workloads

import (
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	full := sizesAt(1)
	if full.One != 1000 || full.Tens != 100 || full.Singles != 1000 || full.Rollout != 200 || full.RealNode != 20 || full.Managers != 1000 ||
		full.Idle != time.Minute || full.Growth[2] != 50_000 || full.Few*replicasOfMany != 100 || full.Crowd != 10_000 ||
		full.Updates != 5000 || full.Events != 100_000 || full.Grace != time.Minute {
		t.Errorf("at full scale: %+v", full)
	}
	if small := sizesAt(0.0001); small.One < 1 || small.Managers < 1 || small.Starts < 1 || small.RealNode < 4 || small.Growth[0] < 1 || small.Growth[1] <= small.Growth[0] {
		t.Errorf("at the smallest scale: %+v", small)
	}
}
