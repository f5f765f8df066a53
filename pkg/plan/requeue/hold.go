package requeue

import (
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A refused request is retried after firstHold. Each further hold is twice as long, up to lastHold, because each retry is likely to fail.
const (
	firstHold = time.Second
	lastHold  = time.Minute
)

// HoldKey identifies the requests that a hold delays: all requests of one kind, which Condition names by their ReplicaFailure reason. Of divides
// them further. Creates are divided by the hash of the revision, because the API server may accept pods of another revision.
type HoldKey struct{ Condition, Of string }

// Keys of the holds that do not depend on a revision.
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
	// length is how long the hold lasts, without the jitter.
	length time.Duration
}

// Refused returns the next hold after another refusal: twice as long as h, up to lastHold. spread, from 0 to 1, is the jitter that spreads out the
// retries of many PodManagers.
func (h Hold) Refused(failure Failure, now time.Time, spread float64) Hold {
	length := max(firstHold, min(2*h.length, lastHold))
	return Hold{Until: now.Add(length + time.Duration(spread*float64(length)/4)), Failure: failure, length: length}
}
