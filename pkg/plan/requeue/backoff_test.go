package requeue

import (
	"testing"
	"time"
)

func TestHoldsGrow(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var backoff Backoff
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		want := time.Duration(seconds) * time.Second
		backoff = backoff.Refused(Failure{Message: "no"}, now, 0)
		if got := backoff.Until.Sub(now); got != want || backoff.Failure.Message != "no" {
			t.Errorf("the backoff after %[2]q lasts %[1]v, want %[3]v", got, backoff.Failure.Message, want)
		}
	}
}
