package requeue

import (
	"time"
)

// A refused request is retried after firstHold, then after ever longer holds up to lastHold, because each retry is likely to fail.
const (
	firstHold = time.Second
	lastHold  = time.Minute
)

// HoldKey names the requests that a hold delays: all requests of one kind, which Condition names by their ReplicaFailure reason.
// Creates are held for each revision by its hash: the API server may accept pods of another revision.
type HoldKey struct{ Condition, Revision string }

// Hold is the backoff of a refused request, which would otherwise be repeated with every event.
type Hold struct {
	Until   time.Time
	Failure Failure
	// length is how long the hold lasts, without the spread.
	length time.Duration
}

// Refused is the next hold after another refusal: twice as long as h, up to lastHold. spread, from 0 to 1, is the jitter that keeps
// the retries of many PodManagers apart.
func (h Hold) Refused(failure Failure, now time.Time, spread float64) Hold {
	length := max(firstHold, min(2*h.length, lastHold))
	return Hold{Until: now.Add(length + time.Duration(spread*float64(length)/4)), Failure: failure, length: length}
}
