package requeue

import (
	"time"
)

// A refused request is tried again after this long, then ever later. Each try is likely to fail.
const (
	firstHold = time.Second
	lastHold  = time.Minute
)

// HoldKey is what a hold is on: requests of one kind, named by the reason that the ReplicaFailure condition gives if they fail.
// Creates are held for each revision, by its hash: another one may be let through.
type HoldKey struct{ Condition, Revision string }

// Hold keeps a refused request from being repeated with every event.
type Hold struct {
	Until   time.Time
	Failure Failure
	// length is how long it lasts.
	length time.Duration
}

// Refused is the hold that follows a refusal, the longer the longer the last one was. spread, from 0 to 1, keeps the tries of
// many PodManagers apart.
func (h Hold) Refused(failure Failure, now time.Time, spread float64) Hold {
	length := max(firstHold, min(2*h.length, lastHold))
	return Hold{Until: now.Add(length + time.Duration(spread*float64(length)/4)), Failure: failure, length: length}
}
