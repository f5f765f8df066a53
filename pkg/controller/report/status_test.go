package report

import (
	"testing"
	"time"
)

// While the API server is busy, statuses leave it to pod requests, but for urgent and late ones.
func TestMaxStatusWrites(t *testing.T) {
	for name, test := range map[string]struct {
		isUrgent, isLate bool
		congestion       time.Duration
		want             int32
	}{
		"idle":             {false, false, 0, idleStatusWrites},
		"idle, and late":   {false, true, 0, idleStatusWrites},
		"not busy yet":     {false, false, busyCongestion, idleStatusWrites},
		"busy":             {false, false, busyCongestion + 1, busyStatusWrites},
		"busy, but late":   {false, true, busyCongestion + 1, lateStatusWrites},
		"busy, but urgent": {true, false, time.Second, idleStatusWrites},
	} {
		if got := maxStatusWrites(test.isUrgent, test.isLate, test.congestion); got != test.want {
			t.Errorf("%s: %d at a time, want %d", name, got, test.want)
		}
	}
}

// The busier the API server, the later a status is tried again, within bounds, and not all of them at the same time.
func TestStatusRetry(t *testing.T) {
	for congestion, least := range map[time.Duration]time.Duration{
		0: 100 * time.Millisecond, 50 * time.Millisecond: 500 * time.Millisecond, time.Minute: time.Second,
	} {
		waits := map[time.Duration]bool{}
		for range 100 {
			wait := statusRetry(congestion)
			waits[wait] = true
			if wait < least || wait > 2*least {
				t.Fatalf("congestion %v: wait %v, want %v to %v", congestion, wait, least, 2*least)
			}
		}
		if len(waits) < 2 {
			t.Errorf("congestion %v: all wait for %v", congestion, waits)
		}
	}
}
