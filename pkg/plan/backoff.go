package plan

import (
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// CreateBackoff returns the key of the backoff that delays the creation of pods of a revision.
func CreateBackoff(revision *history.Revision) requeue.BackoffKey {
	return requeue.BackoffKey{Condition: v1.ReasonFailedCreate, Of: revision.Hash}
}

// holdOn returns the backoff that delays requests of a kind. It returns false if there is none, or if it is over.
func (o Observed) holdOn(key requeue.BackoffKey) (requeue.Backoff, bool) {
	hold, found := o.Holds[key]
	return hold, found && o.Now.Before(hold.Until)
}

// hold records in the plan that a backoff delays requests. A backoff without a failure is not reported.
func (p *Plan) hold(o Observed, hold requeue.Backoff) {
	if p.Held == nil && hold.Failure != (requeue.Failure{}) {
		p.Held = &hold.Failure
	}
	p.Again = p.Again.Sooner(requeue.After(o.Now, hold.Until.Sub(o.Now), requeue.RequeueRefused))
}

// held reports whether requests of a kind are planned and in backoff after a refusal. If so, it records the backoff in the plan.
func (p *Plan) held(o Observed, key requeue.BackoffKey, planned int) bool {
	hold, found := o.holdOn(key)
	if !found || planned == 0 {
		return false
	}
	p.hold(o, hold)
	return true
}

// holdBack removes from the plan the requests that are in backoff after a refusal, and all requests that depend on them. It need not remove creates
// and adoptions: fill plans no creates in backoff, because each revision has a backoff of its own, and adopt plans no adoptions in backoff.
func (p *Plan) holdBack(o Observed) {
	if (p.AddFinalizer || p.RemoveFinalizer) && p.held(o, requeue.BackoffFinalizer, 1) {
		p.AddFinalizer, p.RemoveFinalizer = false, false // the pods have owner references, so they can do without the finalizer
	}
	if p.held(o, requeue.BackoffStore, len(p.Store)+len(p.AdoptRevisions)) {
		// Without the stored revision, it would be unknown later which template a pod was created from.
		p.AdoptRevisions, p.Store, p.Adopt, p.Release, p.Update, p.Annotate, p.Delete, p.Create = nil, nil, nil, nil, nil, nil, nil, nil
	}
	if p.held(o, requeue.BackoffRelease, len(p.Release)) {
		// As long as a pod is not released, its replacement would be one pod too many.
		p.Create = p.Create[:max(0, len(p.Create)-len(p.Release))]
		p.Release = nil
	}
	if p.held(o, requeue.BackoffUpdate, len(p.Update)) {
		p.Update = nil
	}
	if p.held(o, requeue.BackoffAnnotate, len(p.Annotate)) {
		p.Annotate = nil
	}
	if p.held(o, requeue.BackoffDelete, len(p.Delete)) {
		p.Delete, p.Create = nil, nil // creates may depend on the deletes
	}
	if p.held(o, requeue.BackoffDrop, len(p.Drop)) {
		p.Drop = nil
	}
	if p.held(o, requeue.BackoffMark, len(p.Mark)) {
		p.Mark = nil
	}
}
