package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// progress is what is to be remembered of a rollout, and what follows from it.
type progress struct {
	// record is nil while there is no rollout under way.
	record *v1.RolloutStatus
	// condemned tells that failing pods have had their time to recover, late that the deadline has passed.
	condemned, late bool
	// again is when one of these will change without an event.
	again LookAgain
}

// follow carries on the record of the rollout. The clock of the deadline starts anew only with a new maximum of available
// pods, so that pods which come and go do not keep it from ever ending; and it stands still during a pause.
func follow(r *rollout, available int, done bool) progress {
	if !r.isRolling() || done || r.manager.Strategy() == v1.OnDeleteStrategy {
		return progress{}
	}
	now := metav1.NewTime(r.now.Truncate(time.Second)) // as the API server will store it
	next := v1.RolloutStatus{Revision: r.revisions.Update.Name}
	if old := r.manager.Status.Rollout; old != nil && old.Revision == next.Revision {
		next = *old.DeepCopy()
	}
	if available > int(next.MostAvailable) {
		next.MostAvailable, next.SpentSeconds, next.Since = int32(available), 0, nil
	}
	switch paused := r.manager.Spec.Paused; {
	case paused && next.Since != nil:
		next.SpentSeconds += int32(max(0, now.Sub(next.Since.Time)) / time.Second)
		next.Since = nil
	case !paused && next.Since == nil:
		next.Since = &now
	}
	if !r.isHalted() {
		next.FailingSince = nil
	} else if next.FailingSince == nil {
		next.FailingSince = &now
	}
	p := progress{record: &next}
	p.judge(r)
	return p
}

// judge tells what time has to say.
func (p *progress) judge(r *rollout) {
	if since := p.record.Since; since != nil {
		spent := time.Duration(p.record.SpentSeconds) * time.Second
		left := r.manager.ProgressDeadline() - spent - r.now.Sub(since.Time)
		p.late = left <= 0
		p.again = p.again.Sooner(After(r.now, left, AgainDeadline))
	}
	if since := p.record.FailingSince; since != nil {
		// Once they are, they stay so until they have recovered: a pod that is up for a moment changes nothing.
		p.condemned = r.isCondemned(since.Time) || reasonOf(&r.manager.Status, v1.ConditionStalled) == v1.ReasonHalted
		p.again = p.again.Sooner(After(r.now, since.Add(r.manager.FailureGrace()).Sub(r.now), AgainDeadline))
	}
}

// untilForgiven is when the first of the failing pods will have recovered, if it stays ready; zero for never.
func (r *rollout) untilForgiven() (again time.Duration) {
	for _, pod := range r.failing {
		if hasEnded(pod) {
			again = soonest(again, untilForgotten(pod, r.now))
		} else if isReady(pod) {
			again = soonest(again, untilRecovered(r.manager, pod, r.now))
		}
	}
	return again
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
