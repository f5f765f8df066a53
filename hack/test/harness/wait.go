package harness

import (
	"testing"
	"time"
)

// Patience is how long a test waits for something that takes a second on an idle machine. It is long because it is not a criterion: a test that is
// about time has a separate limit.
const Patience = 2 * time.Minute

// The first poll comes soon, and the interval grows while the condition does not hold. At a constant short interval, the polls of many concurrent
// tests would cost more than what they test.
const firstPoll, lastPoll = 20 * time.Millisecond, 200 * time.Millisecond

// Await repeats a check until it holds. If it does not hold in time, the test fails with what was last seen.
func Await(t *testing.T, what string, check func() (seen any, ok bool)) {
	t.Helper()
	AwaitFor(t, Patience, what, check)
}

// AwaitFor is Await with another limit than Patience. The limit is longer on a slow machine.
func AwaitFor(t *testing.T, limit time.Duration, what string, check func() (seen any, ok bool)) {
	t.Helper()
	poll := firstPoll
	for began := time.Now(); ; time.Sleep(poll) {
		seen, ok := check()
		if ok {
			return
		}
		poll = min(poll*5/4, lastPoll)
		if waited := time.Since(began); waited > Scaled(limit) {
			t.Fatalf("waited %v for %s; last seen: %+v", waited.Round(time.Second), what, seen)
		}
	}
}

// Steadily repeats a check for a while. It has to hold every time.
func Steadily(t *testing.T, window time.Duration, what string, check func() (seen any, ok bool)) {
	t.Helper()
	for deadline := time.Now().Add(window); time.Now().Before(deadline); time.Sleep(lastPoll / 2) {
		if seen, ok := check(); !ok {
			t.Fatalf("%s: does not hold: %+v", what, seen)
		}
	}
}
