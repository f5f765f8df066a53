package requeue

import (
	"time"
)

// LookAgain is when to sync a PodManager again although no event arrives, and why. The zero value means never.
type LookAgain struct {
	At  time.Time
	Why string
}

// Why a PodManager is synced again, as logs and metrics call it.
const (
	AgainMore         = "more"         // there is more to do than one sync may do, or the last writes call for another sync
	AgainBackOff      = "backOff"      // the backoff after a failed pod is over: its replacement may be created
	AgainHold         = "hold"         // a refused request may be retried
	AgainDrained      = "drained"      // a pod has been out of its Services for long enough
	AgainAvailable    = "available"    // a pod has been ready for minReadySeconds
	AgainDeadline     = "deadline"     // a deadline of the rollout passes
	AgainRecovered    = "recovered"    // a failing pod has recovered, or its time to recover is over
	AgainProven       = "proven"       // the revision has been available for long enough for rollbacks to return to it
	AgainTerminating  = "terminating"  // a terminating pod should be gone
	AgainStatus       = "status"       // a delayed status update is due
	AgainCache        = "cache"        // the cache may have caught up
	AgainName         = "name"         // a pod name that a foreign pod uses may be free again
	AgainRetry        = "retry"        // the last sync failed
	AgainUncertain    = "uncertain"    // the events of the controller's own writes start no sync; this sync runs in case they never arrive
	AgainRevisionName = "revisionName" // a revision gets another name
	AgainLeftovers    = "leftovers"    // the garbage collector should have deleted what a PodManager of the same name left behind
	AgainUpdated      = "updated"      // a pod was updated in place in a way that no kubelet reports on
)

// After is a LookAgain after a wait; never if the wait is not positive.
func After(now time.Time, wait time.Duration, why string) LookAgain {
	if wait <= 0 {
		return LookAgain{}
	}
	return LookAgain{At: now.Add(wait), Why: why}
}

// Never tells that only an event starts the next sync.
func (l LookAgain) Never() bool { return l.At.IsZero() }

// Sooner is the earlier of two LookAgains.
func (l LookAgain) Sooner(other LookAgain) LookAgain {
	if l.Never() || (!other.Never() && other.At.Before(l.At)) {
		return other
	}
	return l
}

// Sooner is the shorter of two waits, where zero means no wait.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
