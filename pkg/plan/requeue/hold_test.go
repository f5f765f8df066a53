package requeue

import (
	"testing"
	"time"
)

func TestHoldsGrow(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var hold Hold
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		want := time.Duration(seconds) * time.Second
		hold = hold.Refused(Failure{Message: "no"}, now, 0)
		if got := hold.Until.Sub(now); got != want || hold.Failure.Message != "no" {
			t.Errorf("held for %v because of %q, want %v", got, hold.Failure.Message, want)
		}
	}
}
