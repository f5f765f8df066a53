package requeue

import (
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A refused request is retried after firstHold, then after ever longer holds up to lastHold, because each retry is likely to fail.
const (
	firstHold = time.Second
	lastHold  = time.Minute
)

// HoldKey names the requests that a hold delays: all requests of one kind, which Condition names by their ReplicaFailure reason. Of
// divides them further: creates by the hash of the revision, because the API server may accept pods of another revision.
type HoldKey struct{ Condition, Of string }

// The holds on requests that have no further part.
var (
	HoldAdopt     = HoldKey{Condition: v1.ReasonFailedClaim, Of: "adopt"}
	HoldRelease   = HoldKey{Condition: v1.ReasonFailedClaim, Of: "release"}
	HoldStore     = HoldKey{Condition: v1.ReasonFailedStore, Of: "store"}
	HoldMark      = HoldKey{Condition: v1.ReasonFailedStore, Of: "mark"}
	HoldDrop      = HoldKey{Condition: v1.ReasonFailedStore, Of: "drop"}
	HoldUpdate    = HoldKey{Condition: v1.ReasonFailedInPlaceUpdate}
	HoldDelete    = HoldKey{Condition: v1.ReasonFailedDelete}
	HoldFinalizer = HoldKey{Condition: v1.ReasonFailedFinal}
)

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
