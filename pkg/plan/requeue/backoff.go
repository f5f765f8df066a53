package requeue

import (
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A refused request is retried after firstBackoff. Each further backoff is twice as long, up to LastBackoff, because each retry is likely to fail.
const (
	firstBackoff = time.Second
	LastBackoff  = time.Minute
)

// BackoffKey identifies the requests that a backoff delays: all requests of one kind, which Condition names by their ReplicaFailure reason. Of divides
// them further. Creates are divided by the hash of the revision, because the API server may accept pods of another revision.
type BackoffKey struct{ Condition, Of string }

// Keys of the backoffs that do not depend on a revision.
var (
	BackoffAdopt     = BackoffKey{Condition: v1.ReasonFailedClaim, Of: "adopt"}
	BackoffRelease   = BackoffKey{Condition: v1.ReasonFailedClaim, Of: "release"}
	BackoffStore     = BackoffKey{Condition: v1.ReasonFailedStore, Of: "store"}
	BackoffRenew     = BackoffKey{Condition: v1.ReasonFailedStore, Of: "renew"} // updates of stored revisions, except marks
	BackoffInherit   = BackoffKey{Condition: v1.ReasonFailedStore, Of: "adopt"} // adoptions of revisions
	BackoffMark      = BackoffKey{Condition: v1.ReasonFailedStore, Of: "mark"}
	BackoffDrop      = BackoffKey{Condition: v1.ReasonFailedStore, Of: "drop"}
	BackoffUpdate    = BackoffKey{Condition: v1.ReasonFailedInPlaceUpdate}
	BackoffAnnotate  = BackoffKey{Condition: v1.ReasonFailedInPlaceUpdate, Of: "annotate"}
	BackoffDelete    = BackoffKey{Condition: v1.ReasonFailedDelete}
	BackoffFinalizer = BackoffKey{Condition: v1.ReasonFailedFinal}
)

// Backoff is the backoff of a refused request, which would otherwise be repeated with every event.
type Backoff struct {
	Until   time.Time
	Failure Failure
	// length is how long the backoff lasts, without the jitter.
	length time.Duration
}

// Refused returns the next backoff after another refusal: twice as long as h, up to LastBackoff. spread, from 0 to 1, is the jitter that spreads out the
// retries of many PodManagers.
func (h Backoff) Refused(failure Failure, now time.Time, spread float64) Backoff {
	length := max(firstBackoff, min(2*h.length, LastBackoff))
	return Backoff{Until: now.Add(length + time.Duration(spread*float64(length)/4)), Failure: failure, length: length}
}
