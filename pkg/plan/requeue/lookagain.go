package requeue

import (
	"time"
)

// LookAgain is when to look at a PodManager again although nothing happens, and why. The zero value means never.
type LookAgain struct {
	At  time.Time
	Why string
}

// Why a PodManager is looked at again, as logs and metrics call it.
const (
	AgainMore         = "more"         // there is more to do than one sync may, or something follows from what was written
	AgainBackOff      = "backOff"      // the place of a failed pod may be filled again
	AgainHold         = "hold"         // a refused request may be tried again
	AgainDrained      = "drained"      // a pod has been out of its Services for long enough
	AgainAvailable    = "available"    // a pod has been ready for minReadySeconds
	AgainDeadline     = "deadline"     // a deadline of the rollout passes
	AgainRecovered    = "recovered"    // a failing pod has recovered, or had its time for that
	AgainProven       = "proven"       // the revision has been available for long enough to be the one to return to
	AgainTerminating  = "terminating"  // a pod that is being deleted should be gone
	AgainStatus       = "status"       // a status that was put off is due
	AgainCache        = "cache"        // the cache may have caught up
	AgainName         = "name"         // a pod name in other hands may be free again
	AgainRetry        = "retry"        // the last sync failed
	AgainUncertain    = "uncertain"    // the events of own writes bring no sync: if they do not come at all, this does
	AgainRevisionName = "revisionName" // a revision gets another name
	AgainLeftovers    = "leftovers"    // the garbage collector has had its time to delete what a PodManager of the same name left behind
	AgainUpdated      = "changed"      // an update in place that no node has anything to say about was made
)

// After is a look after some time; never for a wait that is not above zero.
func After(now time.Time, wait time.Duration, why string) LookAgain {
	if wait <= 0 {
		return LookAgain{}
	}
	return LookAgain{At: now.Add(wait), Why: why}
}

// Never tells that nothing but an event brings the next look.
func (l LookAgain) Never() bool { return l.At.IsZero() }

// Sooner is the sooner of two looks.
func (l LookAgain) Sooner(other LookAgain) LookAgain {
	if l.Never() || (!other.Never() && other.At.Before(l.At)) {
		return other
	}
	return l
}

// Sooner is the shorter of two waits, of which zero means none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
