package rollout

import (
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Progress is what is to be remembered of a rollout, and what follows from it.
type Progress struct {
	// record is nil while no revision has to prove itself.
	Record *v1.RolloutStatus
	// condemned tells that failing pods have had their time to recover, late that the deadline has passed.
	Condemned, DeadlineExceeded bool
	// again is when one of these will change without an event.
	Again requeue.LookAgain
}

// Follow carries on the record of the rollout, until its revision has proved itself. The clock of the deadline starts anew only
// with a new maximum of available pods, so that pods which come and go do not keep it from ever stopping.
func Follow(r *State, available int) Progress {
	if !r.isRolling() || r.IsGood() && r.Revisions.Update.IsStored() || r.IsUnstarted() {
		return Progress{}
	}
	next := v1.RolloutStatus{Revision: r.Revisions.Update.Name}
	if old := r.Manager.Status.Rollout; old != nil && old.Revision == next.Revision {
		next = *old.DeepCopy()
	}
	// Those that are yet to go, after a scale-down, are none that the rollout has made beside the others.
	wanted := int32(max(r.Manager.DesiredReplicas(), len(r.UpdatedPods)+len(r.OldPods)+len(r.StrayPods)-r.Manager.MaxSurge()))
	if !r.Manager.Spec.Paused || wanted > next.Replicas {
		next.Replicas = wanted
	}
	next.Failing = r.failingRecords()
	p := Progress{Record: &next, Condemned: r.IsHalted() && r.isCondemned() && r.Manager.Strategy() != v1.OnDeleteStrategy, Again: requeue.After(r.Now, r.untilJudged(), requeue.AgainRecovered)}
	p.runClock(r, available)
	return p
}

// runClock lets the clock of the deadline run, or stand still.
func (p *Progress) runClock(r *State, available int) {
	next, due, deadline := p.Record, r.DueUpdated(), r.Manager.ProgressDeadline()
	// Pods that were moved back, or are not wanted any more, will have to be earned again.
	next.MostAvailable = min(next.MostAvailable, int32(due))
	if available > int(next.MostAvailable) || available >= due {
		next.MostAvailable, next.SpentSeconds, next.Since = int32(min(available, due)), 0, nil
	}
	runs := available < due && r.isAtWork(available)
	spent := time.Duration(next.SpentSeconds) * time.Second
	if next.Since != nil {
		spent += max(0, r.Now.Sub(next.Since.Time))
	}
	switch {
	case runs && spent >= deadline, !runs && next.Since != nil:
		next.SpentSeconds, next.Since = int32(min(spent, deadline)/time.Second), nil
	case runs && next.Since == nil:
		next.Since = WholeSecond(r.Now)
	}
	p.DeadlineExceeded = runs && next.Since == nil
	if next.Since != nil {
		p.Again = p.Again.Sooner(requeue.After(r.Now, deadline-spent, requeue.AgainDeadline))
	}
}

// isAtWork tells whether it is up to pods of the present revision to become available. It is not while the rollout stands still,
// or has no such pod on its way: because old pods take all that may be unavailable, because others have to be gone first, or
// because the API server will not have it.
func (r *State) isAtWork(available int) bool {
	stands := r.Manager.Spec.Paused || r.Manager.Strategy() == v1.OnDeleteStrategy || r.IsHalted() || r.Obstacle != ""
	return !stands && len(r.UpdatedPods)+r.unreplaced > available
}

// FailedRevision is the name of the revision that is not to be tried any more. It is written down before anything is undone: or a
// controller that dies half way would find nothing wrong any more, and begin anew.
func FailedRevision(r *State, p Progress) string {
	update := r.Revisions.Update.Name
	switch {
	case r.RolledBack:
		return update
	case r.Manager.OnFailure() == v1.RollbackOnFailure && r.isRolling() && !r.Manager.Spec.Paused &&
		r.canReturn() && (p.Condemned || p.DeadlineExceeded):
		return update
	default:
		return ""
	}
}
