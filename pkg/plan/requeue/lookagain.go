package requeue

import (
	"time"
)

// LookAgain is when, and why, to sync a PodManager again if no event arrives. The zero value means never.
type LookAgain struct {
	At  time.Time
	Why string
}

// The reasons why a PodManager is synced again, as they appear in logs and metrics.
const (
	AgainMore         = "more"         // there is more to do than one sync may do, or the last writes require another sync
	AgainBackOff      = "backOff"      // the backoff after a failed pod is over, and its replacement may be created
	AgainHold         = "hold"         // a refused request may be retried
	AgainDrained      = "drained"      // the grace period of a drained pod is over
	AgainAvailable    = "available"    // a pod has been ready for minReadySeconds
	AgainDeadline     = "deadline"     // a deadline of the rollout passes
	AgainRecovered    = "recovered"    // a failing pod has recovered, or its time to recover is over
	AgainProven       = "proven"       // the revision has been available long enough for rollbacks to return to it
	AgainTerminating  = "terminating"  // a terminating pod should be gone by now
	AgainStatus       = "status"       // a delayed status update is due
	AgainCache        = "cache"        // the cache may have caught up
	AgainName         = "name"         // a pod name that a foreign pod uses may be free again
	AgainRetry        = "retry"        // the last sync failed
	AgainUncertain    = "uncertain"    // the events of the controller's own writes start no sync; this sync runs in case they never arrive
	AgainRevisionName = "revisionName" // a revision gets another name
	AgainLeftovers    = "leftovers"    // the garbage collector should have deleted what a PodManager of the same name left behind
	AgainUpdated      = "updated"      // a pod was updated in place in a way that the kubelet does not report
)

// After returns a LookAgain after a wait, or never if the wait is not positive.
func After(now time.Time, wait time.Duration, why string) LookAgain {
	if wait <= 0 {
		return LookAgain{}
	}
	return LookAgain{At: now.Add(wait), Why: why}
}

// Never reports whether only an event starts the next sync.
func (l LookAgain) Never() bool { return l.At.IsZero() }

// Sooner returns the earlier of two LookAgains.
func (l LookAgain) Sooner(other LookAgain) LookAgain {
	if l.Never() || (!other.Never() && other.At.Before(l.At)) {
		return other
	}
	return l
}

// Sooner returns the shorter of two waits. Zero means no wait.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
