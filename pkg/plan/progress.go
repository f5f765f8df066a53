package plan

import (
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// progress is what is to be remembered of a rollout, and what follows from it.
type progress struct {
	// record is nil while no revision has to prove itself.
	record *v1.RolloutStatus
	// condemned tells that failing pods have had their time to recover, late that the deadline has passed.
	condemned, late bool
	// again is when one of these will change without an event.
	again LookAgain
}

// follow carries on the record of the rollout, until its revision has proved itself. The clock of the deadline starts anew only
// with a new maximum of available pods, so that pods which come and go do not keep it from ever ending.
func follow(r *rollout, available int) progress {
	if !r.isRolling() || r.isGood() && r.revisions.Update.stored != nil || r.isUnstarted() {
		return progress{}
	}
	next := v1.RolloutStatus{Revision: r.revisions.Update.Name}
	if old := r.manager.Status.Rollout; old != nil && old.Revision == next.Revision {
		next = *old.DeepCopy()
	}
	// Those that are yet to go, after a scale-down, are none that the rollout has made beside the others.
	wanted := int32(max(r.manager.DesiredReplicas(), len(r.updated)+len(r.based)+len(r.strays)-r.manager.MaxSurge()))
	if !r.manager.Spec.Paused || wanted > next.Replicas {
		next.Replicas = wanted
	}
	next.Failing = r.failingRecords()
	p := progress{record: &next, condemned: r.isHalted() && r.isCondemned() && r.manager.Strategy() != v1.OnDeleteStrategy, again: After(r.now, r.untilJudged(), AgainRecovered)}
	p.runClock(r, available)
	return p
}

// runClock lets the clock of the deadline run, or stand still.
func (p *progress) runClock(r *rollout, available int) {
	next, due, deadline := p.record, r.due(), r.manager.ProgressDeadline()
	// Pods that were moved back, or are not wanted any more, will have to be earned again.
	next.MostAvailable = min(next.MostAvailable, int32(due))
	if available > int(next.MostAvailable) || available >= due {
		next.MostAvailable, next.SpentSeconds, next.Since = int32(min(available, due)), 0, nil
	}
	runs := available < due && r.isAtWork(available)
	spent := time.Duration(next.SpentSeconds) * time.Second
	if next.Since != nil {
		spent += max(0, r.now.Sub(next.Since.Time))
	}
	switch {
	case runs && spent >= deadline, !runs && next.Since != nil:
		next.SpentSeconds, next.Since = int32(min(spent, deadline)/time.Second), nil
	case runs && next.Since == nil:
		next.Since = wholeSecond(r.now)
	}
	p.late = runs && next.Since == nil
	if next.Since != nil {
		p.again = p.again.Sooner(After(r.now, deadline-spent, AgainDeadline))
	}
}

// isAtWork tells whether it is up to pods of the present revision to become available. It is not while the rollout stands still,
// or has no such pod on its way: because old pods take all that may be unavailable, because others have to be gone first, or
// because the API server will not have it.
func (r *rollout) isAtWork(available int) bool {
	stands := r.manager.Spec.Paused || r.manager.Strategy() == v1.OnDeleteStrategy || r.isHalted() || r.obstacle != ""
	return !stands && len(r.updated)+r.unfilled > available
}

// failedRevision is the name of the revision that is not to be tried any more. It is written down before anything is undone: or a
// controller that dies half way would find nothing wrong any more, and begin anew.
func failedRevision(r *rollout, p progress) string {
	update := r.revisions.Update.Name
	switch {
	case r.rolledBack:
		return update
	case r.manager.OnFailure() == v1.RollbackOnFailure && r.isRolling() && !r.manager.Spec.Paused &&
		r.canReturn() && (p.condemned || p.late):
		return update
	default:
		return ""
	}
}
