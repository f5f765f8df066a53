package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// Deps are what the parts of a sync have in common.
type Deps struct {
	Clients
	scopes   ByNamespace
	tracker  *consistency.Tracker
	memories *memories
	writes   *latency
	clock    clock.PassiveClock
}

// Executor carries out plans.
type Executor struct {
	Deps
	lanes lanes
}

func newExecutor(deps Deps) *Executor { return &Executor{Deps: deps, lanes: newLanes()} }

// begin makes sure that a plan may be carried out, and tells whether it may.
func (e *Executor) begin(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan) (done *outcome, goesOn bool) {
	done = &outcome{manager: observed.Manager, failure: decided.Held, changed: map[inplace.Step][]*corev1.Pod{}, again: decided.Again}
	if decided.AddFinalizer && !e.addFinalizer(ctx, key, done) {
		return done, false // without it nothing may be created: pods could be left behind
	}
	if !decided.AddFinalizer && decided.NeedsLiveSpec() && e.isOutdated(ctx, key, observed.Manager, done) {
		return done, false
	}
	return done, true
}

// apply carries out a plan, as far as it goes.
func (e *Executor) apply(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan, done *outcome) {
	if !e.adoptRevisions(ctx, key, decided.AdoptRevisions, done) || !e.storeRevisions(ctx, key, decided.Store, done) {
		return // without the revision no pod may be made from it: what it was made from could not be told later
	}
	if !e.applyClaims(ctx, key, decided, done) {
		return
	}
	e.applyChange(ctx, key, decided.Update, done)
	deleted := e.applyDelete(ctx, key, decided.Delete, done)
	if done.outdated {
		return
	}
	// Creates may count on the deletes: a pod that was to go and did not would be one too many beside its replacement.
	if deleted {
		e.applyCreate(ctx, key, decided.Create, done)
	}
	e.dropRevisions(ctx, key, decided.Drop, done)
	if decided.RemoveFinalizer && done.err == nil {
		done.finalized = e.removeFinalizer(ctx, key, done) && observed.Manager.DeletionTimestamp != nil
	}
}

// giveUp is for when the cache was found to be wrong: neither the rest of the plan nor a status may rest on it.
func (e *Executor) giveUp(key cache.ObjectName, done *outcome) {
	e.memories.of(key).distrust = true
	done.outdated = true
	done.lookAgain(requeue.After(e.clock.Now(), staleRetry, requeue.AgainCache))
}

// newFor is how long a PodManager is new. What its creation asks for needs no second look: if it was taken back since, it was
// so a moment ago, and the next sync, or the garbage collector, takes the pods back.
const newFor = 10 * time.Second

// isOutdated looks, at the API server itself, whether the PodManager still is what the plan was made for. The cache may
// be minutes old: that of a leader that was stopped and does not know yet that another one has taken over, say. One
// read is a small price for not creating, deleting or adopting pods that nobody wants any more.
func (e *Executor) isOutdated(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, done *outcome) bool {
	now := e.clock.Now()
	if age := now.Sub(manager.CreationTimestamp.Time); manager.Status.ObservedGeneration < 1 && age > -newFor && age < newFor {
		return false
	}
	live, err := e.scopes.live(ctx, e.PodManagers, key)
	if err != nil && !apierrors.IsNotFound(err) {
		done.fails(fmt.Errorf("looking whether the PodManager is still the same: %w", err))
		return true
	}
	// The generation alone does not tell: after an etcd restore the same number may stand for another spec.
	if err == nil && live.UID == manager.UID && live.DeletionTimestamp.Equal(manager.DeletionTimestamp) &&
		equality.Semantic.DeepEqual(live.Spec, manager.Spec) && status.RemembersTheSame(&live.Status, &manager.Status) {
		return false
	}
	klog.FromContext(ctx).V(2).Info("PodManager has changed or is gone, waiting for the cache to show it", "gone", err != nil)
	wait := goneRetry
	if err == nil && consistency.IsNewer(live.ResourceVersion, manager.ResourceVersion) {
		e.tracker.Saw(key, managersResource, live.ResourceVersion, now)
		wait = staleRetry
	}
	done.outdated, done.again = true, requeue.After(now, wait, requeue.AgainCache)
	return true
}

// applyClaims lets pods go and takes pods in, and tells whether all went through. The rest of the plan counts on it: beside a
// pod that is still ours its replacement would be one too many, and without one that was to be ours there is one too few.
func (e *Executor) applyClaims(ctx context.Context, key cache.ObjectName, decided plan.Plan, done *outcome) bool {
	released := inParallel(len(decided.Release), e.lanes.of(len(decided.Release)), func(i int) result {
		return e.releasePod(ctx, key, done.manager, decided.Release[i])
	})
	adopted := inParallel(len(decided.Adopt), e.lanes.of(len(decided.Adopt)), func(i int) result {
		return e.adoptPod(ctx, key, done.manager, decided.Adopt[i])
	})
	var releasedAll, adoptedAll bool
	claims := requeue.HoldKey{Condition: v1.ReasonFailedClaim}
	done.released, releasedAll = e.settle(key, claims, released, done)
	done.adopted, adoptedAll = e.settle(key, claims, adopted, done)
	if adoptedAll && len(done.adopted) < len(decided.Adopt) {
		e.giveUp(key, done) // one is gone, or has become somebody else's
		return false
	}
	return releasedAll && adoptedAll
}

// applyDelete deletes pods, and tells whether all went through.
func (e *Executor) applyDelete(ctx context.Context, key cache.ObjectName, deletions []rollout.Deletion, done *outcome) bool {
	results := inParallel(len(deletions), e.lanes.of(len(deletions)), func(i int) result {
		return e.deletePod(ctx, key, done.manager, deletions[i].Pod)
	})
	var all bool
	done.deleted, all = e.settle(key, requeue.HoldKey{Condition: v1.ReasonFailedDelete}, results, done)
	if all && len(done.deleted) < len(deletions) {
		e.giveUp(key, done) // one was gone already, or has changed
	}
	return all
}

// applyCreate creates pods, one at first and then ever more at a time, and stops at the first that does not go through: a
// quota or a broken template then costs a few requests instead of hundreds.
func (e *Executor) applyCreate(ctx context.Context, key cache.ObjectName, creations []plan.Creation, done *outcome) {
	memory := e.memories.of(key)
	results := whileItWorks(len(creations), memory.trustIn(e.clock.Now()), e.lanes.of(len(creations)), func(i int) result {
		return e.createPod(ctx, key, done.manager, creations[i])
	})
	byRevision := map[requeue.HoldKey][]result{}
	going := map[requeue.HoldKey]bool{}
	for i, r := range results {
		hold := requeue.HoldKey{Condition: v1.ReasonFailedCreate, Revision: creations[i].Revision.Hash}
		if r.err != nil && requeue.NamespaceIsGoing(r.err) {
			going[hold] = true
			continue
		}
		if r.taken {
			memory.take(podstate.PodName(key.Name, creations[i].Index), r.foreign, e.clock.Now())
		}
		if r.pod == nil && r.err == nil {
			// The name is, or was, in other hands: the next sync takes another one.
			done.lookAgain(requeue.After(e.clock.Now(), staleRetry, requeue.AgainName))
			continue
		}
		byRevision[hold] = append(byRevision[hold], r)
	}
	failed := false
	for hold, results := range byRevision {
		created, all := e.settle(key, hold, results, done)
		done.created = append(done.created, created...)
		failed = failed || !all
	}
	for hold := range going { // there is nobody to tell, and no use in trying with every pod that goes
		klog.FromContext(ctx).V(2).Info("Namespace is being deleted, creating nothing")
		until := memory.refuse(hold, requeue.Failure{}, done.manager.Generation, e.clock.Now())
		done.lookAgain(requeue.LookAgain{At: until, Why: requeue.AgainHold})
		failed = true
	}
	memory.trust(len(done.created), !failed, e.clock.Now())
}

// stepRefused is what was done to pods that could not be changed in place: they say so now.
const stepRefused inplace.Step = "Refused"

// applyChange takes a step with each pod that is changed in place.
func (e *Executor) applyChange(ctx context.Context, key cache.ObjectName, changes []inplace.Update, done *outcome) {
	results := inParallel(len(changes), e.lanes.of(len(changes)), func(i int) result { return e.changePod(ctx, key, done.manager, changes[i]) })
	for i, r := range results {
		if r.pod == nil || r.err != nil {
			continue
		}
		step := changes[i].Step
		if r.refused {
			step = stepRefused
		}
		done.changed[step] = append(done.changed[step], r.pod)
		if r.refused || !changes[i].TurnsTheGate() && !changes[i].TakesTheNode() {
			done.lookAgain(requeue.After(e.clock.Now(), staleRetry, requeue.AgainUpdated)) // nobody else has anything to say about it
		}
	}
	e.settle(key, requeue.HoldKey{Condition: v1.ReasonFailedInPlaceUpdate}, results, done)
}

// settle takes the results of requests of one kind. It returns the pods of those that went through, and whether none has failed.
// What the API server has refused is held, and tried again ever later; any other failure is the sync's.
func (e *Executor) settle(key cache.ObjectName, hold requeue.HoldKey, results []result, done *outcome) (pods []*corev1.Pod, all bool) {
	memory := e.memories.of(key)
	var refused *requeue.Failure
	all = true
	for _, r := range results {
		switch {
		case r.err != nil:
			all = false
			failure := requeue.Failed(hold.Condition, r.err)
			done.fail(failure, r.err)
			if failure.Refused() && refused == nil {
				refused = &failure
			}
		case r.pod != nil:
			pods = append(pods, r.pod)
		}
	}
	switch {
	case refused != nil: // once for all of them: each time doubles the hold
		until := memory.refuse(hold, *refused, done.manager.Generation, e.clock.Now())
		done.lookAgain(requeue.LookAgain{At: until, Why: requeue.AgainHold})
	case len(pods) > 0:
		memory.accept(hold)
	}
	return pods, all
}
