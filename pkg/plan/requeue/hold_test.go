package requeue

import (
	"testing"
	"time"
)

func TestHoldsGrow(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var hold Hold
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		hold = hold.Refused(Failure{Message: "no"}, now, 0)
		if got := hold.Until.Sub(now); got != want*time.Second || hold.Failure.Message != "no" {
			t.Errorf("held for %v because of %q, want %v", got, hold.Failure.Message, want*time.Second)
		}
	}
}
