package plan

import (
	"slices"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// CreateBackoff returns the key of the backoff that delays the creation of pods of a revision.
func CreateBackoff(revision *history.Revision) requeue.BackoffKey {
	return requeue.BackoffKey{Condition: v1.ReasonFailedCreate, Of: revision.Hash}
}

// activeBackoff returns the backoff that delays requests of a kind. It returns false if there is none, or if it is over.
func (o Observed) activeBackoff(key requeue.BackoffKey) (requeue.Backoff, bool) {
	backoff, found := o.Backoffs[key]
	return backoff, found && o.Now.Before(backoff.Until)
}

// delay records in the plan that a backoff delays requests. A backoff without a failure is not reported.
func (p *Plan) delay(o Observed, backoff requeue.Backoff) {
	if p.Blocked == nil && backoff.Failure != (requeue.Failure{}) {
		p.Blocked = &backoff.Failure
	}
	p.Again = p.Again.Sooner(requeue.After(o.Now, backoff.Until.Sub(o.Now), requeue.RequeueRefused))
}

// isBlocked reports whether requests of a kind are planned and in backoff after a refusal. If so, it records the backoff in the plan.
func (p *Plan) isBlocked(o Observed, key requeue.BackoffKey, planned int) bool {
	backoff, found := o.activeBackoff(key)
	if !found || planned == 0 {
		return false
	}
	p.delay(o, backoff)
	return true
}

// delayStores removes from the plan the requests to store revisions that are in backoff after a refusal. It reports whether a revision is needed that
// cannot be created yet. An update of a stored revision is never needed.
func (p *Plan) delayStores(o Observed) (unstored bool) {
	creates := slices.DeleteFunc(slices.Clone(p.Store), func(s history.Store) bool { return s.Exists })
	updates := slices.DeleteFunc(p.Store, func(s history.Store) bool { return !s.Exists })
	if p.isBlocked(o, requeue.BackoffRenew, len(updates)) {
		updates = nil
	}
	if unstored = p.isBlocked(o, requeue.BackoffStore, len(creates)); unstored {
		creates = nil
	}
	p.Store = slices.Concat(creates, updates)
	return unstored
}

// withoutUnstored removes from the plan what has to wait until a revision is stored. Otherwise it would be unknown later which template a pod was
// created from. No pod is created from such a revision or updated from or to it, and no pod is deleted for a rollout unless there are more pods than
// desired. Pods of stored revisions are created only if pods are missing.
func (p *Plan) withoutUnstored(r *rollout.State) {
	isUnstored := func(revision *history.Revision) bool { return revision != nil && !revision.IsStored() }
	stay := len(r.UpdatedPods) + len(r.OldPods) + len(r.MustMovePods)
	for _, deletion := range p.Delete {
		if deletesActive(deletion) && !deletion.Why.IsRollout() {
			stay--
		}
	}
	p.Delete = slices.DeleteFunc(p.Delete, func(d rollout.Deletion) bool {
		if !d.Why.IsRollout() {
			return false
		}
		isSurplus := stay > r.Desired
		if isSurplus {
			stay--
		}
		return !isSurplus
	})
	p.Update = slices.DeleteFunc(p.Update, func(u inplace.Update) bool {
		return u.Step != inplace.StepOpen && (isUnstored(u.From) || isUnstored(u.To))
	})
	p.Create = slices.DeleteFunc(p.Create, func(c Creation) bool { return isUnstored(c.Revision) })
	p.Create = p.Create[:min(len(p.Create), max(0, r.Desired-stay))]
}

// dropBlocked removes from the plan the requests that are in backoff after a refusal, and all requests that depend on them. It need not remove creates
// and adoptions: fill plans no creates in backoff, because each revision has a backoff of its own, and adopt plans no adoptions in backoff.
func (p *Plan) dropBlocked(o Observed) {
	if (p.AddFinalizer || p.RemoveFinalizer) && p.isBlocked(o, requeue.BackoffFinalizer, 1) {
		p.AddFinalizer, p.RemoveFinalizer = false, false // the pods have owner references, so they can do without the finalizer
	}
	if p.isBlocked(o, requeue.BackoffInherit, len(p.AdoptRevisions)) {
		p.AdoptRevisions = nil
	}
	if p.isBlocked(o, requeue.BackoffRelease, len(p.Release)) {
		// As long as a pod is not released, its replacement would be one pod too many.
		p.Create = p.Create[:max(0, len(p.Create)-len(p.Release))]
		p.Release = nil
	}
	if p.isBlocked(o, requeue.BackoffUpdate, len(p.Update)) {
		p.Update = nil
	}
	if p.isBlocked(o, requeue.BackoffAnnotate, len(p.Annotate)) {
		p.Annotate = nil
	}
	if p.isBlocked(o, requeue.BackoffDelete, len(p.Delete)) {
		p.Delete, p.Create = nil, nil // creates may depend on the deletes
	}
	if p.isBlocked(o, requeue.BackoffDrop, len(p.Drop)) {
		p.Drop = nil
	}
	if p.isBlocked(o, requeue.BackoffMark, len(p.Mark)) {
		p.Mark = nil
	}
}
