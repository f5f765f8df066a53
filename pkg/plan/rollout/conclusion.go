package rollout

import (
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Conclusion is what follows from a rollout for the status. Later plans act on it once the status records it.
type Conclusion struct {
	// State is the rollout that the status describes. If the new revision fails in this sync, State is already the rollback.
	*State
	Progress
	// FailedRevision is the revision that has failed and is rolled back, or empty. CurrentRevision is the last good revision, or empty.
	FailedRevision, CurrentRevision string
	// Failed is the rollout in which the new revision fails in this sync. It is nil if the revision has not failed, or failed in an earlier sync.
	Failed *State
}

// Conclude returns what follows from the rollout: whether the new revision has failed, or is good from now on, and the record to keep.
func (r *State) Conclude() *Conclusion {
	c := &Conclusion{State: r, Progress: r.trackProgress()}
	wait, started := r.UntilProven()
	c.Again = requeue.After(r.Now, wait, requeue.RequeueProven).Sooner(c.Again).Sooner(requeue.After(r.Now, r.untilOldProven(), requeue.RequeueRecovered))
	c.CurrentRevision = r.currentRevision(started && wait == 0)
	c.FailedRevision = r.failedRevision(c.Progress)
	if c.FailedRevision != "" && !r.RolledBack {
		c.State, c.Failed, c.Record = r.rollBack(), r, nil
	}
	return c
}

// currentRevision returns the name of the revision that the next rollout may return to, or empty if there is none. A revision has to be stored first.
func (r *State) currentRevision(isProven bool) string {
	switch {
	case r.IsOldProven() && r.Old.IsStored():
		return r.Old.Name
	case isProven && r.Revisions.Update.IsStored():
		return r.Revisions.Update.Name
	case r.Revisions.Current != nil:
		return r.Revisions.Current.Name
	default:
		return r.Manager.Status.CurrentRevision
	}
}
