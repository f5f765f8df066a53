package plan

import (
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// CreateHold is the key of the hold on creating pods of a revision.
func CreateHold(revision *history.Revision) requeue.HoldKey {
	return requeue.HoldKey{Condition: v1.ReasonFailedCreate, Revision: revision.Hash}
}

// holdOn is the hold on requests of a kind; false if there is none, or its backoff is over.
func (o Observed) holdOn(key requeue.HoldKey) (requeue.Hold, bool) {
	hold, found := o.Holds[key]
	return hold, found && o.Now.Before(hold.Until)
}

// hold notes in the plan that requests are held back. A hold without a failure is not reported.
func (p *Plan) hold(o Observed, hold requeue.Hold) {
	if p.Held == nil && hold.Failure != (requeue.Failure{}) {
		p.Held = &hold.Failure
	}
	p.Again = p.Again.Sooner(requeue.After(o.Now, hold.Until.Sub(o.Now), requeue.AgainHold))
}

// holdBack takes requests in backoff after a refusal out of the plan, and all requests that depend on them. Creates have a hold for
// each revision, see fill.
func (p *Plan) holdBack(o Observed) {
	held := func(condition string, planned int) bool {
		hold, found := o.holdOn(requeue.HoldKey{Condition: condition})
		if !found || planned == 0 {
			return false
		}
		p.hold(o, hold)
		return true
	}
	switch {
	case held(v1.ReasonFailedStore, len(p.Store)+len(p.AdoptRevisions)):
		// Without the stored revision nobody could tell later which template a pod was created from.
		p.AdoptRevisions, p.Store, p.Adopt, p.Release, p.Update, p.Delete, p.Create = nil, nil, nil, nil, nil, nil, nil
	case held(v1.ReasonFailedClaim, len(p.Adopt)+len(p.Release)):
		// While a pod is not released, its replacement would be one pod too many.
		p.Adopt, p.Release, p.Update, p.Delete, p.Create = nil, nil, nil, nil, nil
	}
	if held(v1.ReasonFailedInPlaceUpdate, len(p.Update)) {
		p.Update = nil
	}
	if held(v1.ReasonFailedDelete, len(p.Delete)) {
		p.Delete, p.Create = nil, nil // creates may depend on the deletes
	}
}
