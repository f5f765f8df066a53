package plan

import (
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

func CreateHold(revision *history.Revision) requeue.HoldKey {
	return requeue.HoldKey{Condition: v1.ReasonFailedCreate, Revision: revision.Hash}
}

// holdOn is the hold that keeps requests of a kind from being tried now.
func (o Observed) holdOn(key requeue.HoldKey) (requeue.Hold, bool) {
	hold, found := o.Holds[key]
	return hold, found && o.Now.Before(hold.Until)
}

// hold tells that something is not tried because the last try was refused; of a hold without a failure there is nobody to tell.
func (p *Plan) hold(o Observed, hold requeue.Hold) {
	if p.Held == nil && hold.Failure != (requeue.Failure{}) {
		p.Held = &hold.Failure
	}
	p.Again = p.Again.Sooner(requeue.After(o.Now, hold.Until.Sub(o.Now), requeue.AgainHold))
}

// holdBack takes out of the plan what was refused a moment ago, and what may not be done without it. Creates have their own
// hold for each revision, see fill.
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
		// What pods were made from could not be told later.
		p.AdoptRevisions, p.Store, p.Adopt, p.Release, p.Update, p.Delete, p.Create = nil, nil, nil, nil, nil, nil, nil
	case held(v1.ReasonFailedClaim, len(p.Adopt)+len(p.Release)):
		// Beside a pod that is still ours its replacement would be one too many.
		p.Adopt, p.Release, p.Update, p.Delete, p.Create = nil, nil, nil, nil, nil
	}
	if held(v1.ReasonFailedInPlaceUpdate, len(p.Update)) {
		p.Update = nil
	}
	if held(v1.ReasonFailedDelete, len(p.Delete)) {
		p.Delete, p.Create = nil, nil // creates may count on the deletes
	}
}
