package requeue

import (
	"time"
)

// Requeue is when, and why, to sync a PodManager again if no event arrives. The zero value means never.
type Requeue struct {
	At  time.Time
	Why string
}

// The reasons why a PodManager is synced again, as they appear in logs and metrics.
const (
	RequeueMore         = "more"         // there is more to do than one sync may do, or the last writes require another sync
	RequeueBackOff      = "backOff"      // the backoff after a failed pod is over, and its replacement may be created
	RequeueRefused      = "backoff"      // a refused request may be retried
	RequeueDrained      = "drained"      // the grace period of a drained pod is over
	RequeueAvailable    = "available"    // a pod has been ready for minReadySeconds
	RequeueDeadline     = "deadline"     // a deadline of the rollout passes
	RequeueRecovered    = "recovered"    // a failing pod has recovered, or its time to recover is over
	RequeueProven       = "proven"       // the revision has been available long enough for rollbacks to return to it
	RequeueTerminating  = "terminating"  // a terminating pod should be gone by now
	RequeueStatus       = "status"       // a delayed status update is due
	RequeueCache        = "cache"        // the cache may have caught up
	RequeueName         = "name"         // a pod name that a foreign pod uses may be free again
	RequeueRetry        = "retry"        // the last sync failed
	RequeueUncertain    = "uncertain"    // the events of the controller's own writes start the next sync; this one runs in case they never arrive
	RequeueRevisionName = "revisionName" // a revision gets another name
	RequeueLeftovers    = "leftovers"    // the garbage collector should have deleted what a PodManager of the same name left behind
	RequeueLeaving      = "leaving"      // a pod may have to leave by now
	RequeueUpdated      = "updated"      // a pod was updated in place in a way that the kubelet does not report
)

// After returns a Requeue after a wait, or never if the wait is not positive.
func After(now time.Time, wait time.Duration, why string) Requeue {
	if wait <= 0 {
		return Requeue{}
	}
	return Requeue{At: now.Add(wait), Why: why}
}

// Never reports whether only an event starts the next sync.
func (l Requeue) Never() bool { return l.At.IsZero() }

// Sooner returns the earlier of two Requeues.
func (l Requeue) Sooner(other Requeue) Requeue {
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
