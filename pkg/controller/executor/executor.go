package executor

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"
	"k8s.io/utils/clock"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/controller/memory"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// Deps are what the parts of a sync have in common.
type Deps struct {
	source.Clients
	Scopes   source.ByNamespace
	Tracker  *consistency.Tracker
	Memories *memory.Memories
	Writes   *Latency
	Clock    clock.PassiveClock
}

// Executor carries out plans.
type Executor struct {
	Deps
	Lanes Lanes
}

func New(deps Deps) *Executor { return &Executor{Deps: deps, Lanes: newLanes()} }

// Begin makes sure that a plan may be carried out, and tells whether it may.
func (e *Executor) Begin(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan) (done *Outcome, goesOn bool) {
	done = &Outcome{Manager: observed.Manager, Failure: decided.Held, Updated: map[inplace.Step][]*corev1.Pod{}, Again: decided.Again}
	if decided.AddFinalizer && !e.addFinalizer(ctx, key, done) {
		return done, false // without it nothing may be created: pods could be left behind
	}
	if !decided.AddFinalizer && decided.NeedsLiveSpec() && e.isOutdated(ctx, key, observed.Manager, done) {
		return done, false
	}
	return done, true
}

// Apply carries out a plan, as far as it goes.
func (e *Executor) Apply(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan, done *Outcome) {
	if !e.adoptRevisions(ctx, key, decided.AdoptRevisions, done) || !e.storeRevisions(ctx, key, decided.Store, done) {
		return // without the revision no pod may be made from it: what it was made from could not be told later
	}
	if !e.applyClaims(ctx, key, decided, done) {
		return
	}
	e.applyUpdates(ctx, key, decided.Update, done)
	deleted := e.applyDelete(ctx, key, decided.Delete, done)
	if done.Outdated {
		return
	}
	// Creates may count on the deletes: a pod that was to go and did not would be one too many beside its replacement.
	if deleted {
		e.applyCreate(ctx, key, decided.Create, done)
	}
	e.dropRevisions(ctx, key, decided.Drop, done)
	if decided.RemoveFinalizer && done.err == nil {
		done.Finalized = e.removeFinalizer(ctx, key, done) && observed.Manager.DeletionTimestamp != nil
	}
}

// giveUp is for when the cache was found to be wrong: neither the rest of the plan nor a status may rest on it.
func (e *Executor) giveUp(key cache.ObjectName, done *Outcome) {
	e.Memories.Of(key).Distrust = true
	done.Outdated = true
	done.LookAgain(requeue.After(e.Clock.Now(), StaleRetry, requeue.AgainCache))
}

// newFor is how long a PodManager is new. What its creation asks for needs no second look: if it was taken back since, it was
// so a moment ago, and the next sync, or the garbage collector, takes the pods back.
const newFor = 10 * time.Second

// isOutdated looks, at the API server itself, whether the PodManager still is what the plan was made for. The cache may
// be minutes old: that of a leader that was stopped and does not know yet that another one has taken over, say. One
// read is a small price for not creating, deleting or adopting pods that nobody wants any more.
func (e *Executor) isOutdated(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, done *Outcome) bool {
	now := e.Clock.Now()
	if age := now.Sub(manager.CreationTimestamp.Time); manager.Status.ObservedGeneration < 1 && age > -newFor && age < newFor {
		return false
	}
	live, err := e.Scopes.Live(ctx, e.PodManagers, key)
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
		e.Tracker.Saw(key, source.ManagersResource, live.ResourceVersion, now)
		wait = StaleRetry
	}
	done.Outdated, done.Again = true, requeue.After(now, wait, requeue.AgainCache)
	return true
}

// applyClaims lets pods go and takes pods in, and tells whether all went through. The rest of the plan counts on it: beside a
// pod that is still ours its replacement would be one too many, and without one that was to be ours there is one too few.
func (e *Executor) applyClaims(ctx context.Context, key cache.ObjectName, decided plan.Plan, done *Outcome) bool {
	released := InParallel(len(decided.Release), e.Lanes.Of(len(decided.Release)), func(i int) Result {
		return e.releasePod(ctx, key, done.Manager, decided.Release[i])
	})
	adopted := InParallel(len(decided.Adopt), e.Lanes.Of(len(decided.Adopt)), func(i int) Result {
		return e.adoptPod(ctx, key, done.Manager, decided.Adopt[i])
	})
	var releasedAll, adoptedAll bool
	claims := requeue.HoldKey{Condition: v1.ReasonFailedClaim}
	done.Released, releasedAll = e.settle(key, claims, released, done)
	done.Adopted, adoptedAll = e.settle(key, claims, adopted, done)
	if adoptedAll && len(done.Adopted) < len(decided.Adopt) {
		e.giveUp(key, done) // one is gone, or has become somebody else's
		return false
	}
	return releasedAll && adoptedAll
}

// applyDelete deletes pods, and tells whether all went through.
func (e *Executor) applyDelete(ctx context.Context, key cache.ObjectName, deletions []rollout.Deletion, done *Outcome) bool {
	results := InParallel(len(deletions), e.Lanes.Of(len(deletions)), func(i int) Result {
		return e.deletePod(ctx, key, done.Manager, deletions[i].Pod)
	})
	var all bool
	done.Deleted, all = e.settle(key, requeue.HoldKey{Condition: v1.ReasonFailedDelete}, results, done)
	if all && len(done.Deleted) < len(deletions) {
		e.giveUp(key, done) // one was gone already, or has changed
	}
	return all
}

// applyCreate creates pods, one at first and then ever more at a time, and stops at the first that does not go through: a
// quota or a broken template then costs a few requests instead of hundreds.
func (e *Executor) applyCreate(ctx context.Context, key cache.ObjectName, creations []plan.Creation, done *Outcome) {
	memory := e.Memories.Of(key)
	results := whileItWorks(len(creations), memory.TrustIn(e.Clock.Now()), e.Lanes.Of(len(creations)), func(i int) Result {
		return e.createPod(ctx, key, done.Manager, creations[i])
	})
	byRevision := map[requeue.HoldKey][]Result{}
	going := map[requeue.HoldKey]bool{}
	for i, r := range results {
		hold := requeue.HoldKey{Condition: v1.ReasonFailedCreate, Revision: creations[i].Revision.Hash}
		if r.Err != nil && requeue.NamespaceIsGoing(r.Err) {
			going[hold] = true
			continue
		}
		if r.taken {
			memory.Take(podstate.PodName(key.Name, creations[i].Index), r.foreign, e.Clock.Now())
		}
		if r.Pod == nil && r.Err == nil {
			// The name is, or was, in other hands: the next sync takes another one.
			done.LookAgain(requeue.After(e.Clock.Now(), StaleRetry, requeue.AgainName))
			continue
		}
		byRevision[hold] = append(byRevision[hold], r)
	}
	failed := false
	for hold, results := range byRevision {
		created, all := e.settle(key, hold, results, done)
		done.Created = append(done.Created, created...)
		failed = failed || !all
	}
	for hold := range going { // there is nobody to tell, and no use in trying with every pod that goes
		klog.FromContext(ctx).V(2).Info("Namespace is being deleted, creating nothing")
		until := memory.Refuse(hold, requeue.Failure{}, done.Manager.Generation, e.Clock.Now())
		done.LookAgain(requeue.LookAgain{At: until, Why: requeue.AgainHold})
		failed = true
	}
	memory.Trust(len(done.Created), !failed, e.Clock.Now())
}

// stepRefused is what was done to pods that could not be updated in place: they say so now.
const stepRefused inplace.Step = "Refused"

// applyUpdates takes a step with each pod that is updated in place.
func (e *Executor) applyUpdates(ctx context.Context, key cache.ObjectName, changes []inplace.Update, done *Outcome) {
	results := InParallel(len(changes), e.Lanes.Of(len(changes)), func(i int) Result { return e.updatePod(ctx, key, done.Manager, changes[i]) })
	for i, r := range results {
		if r.Pod == nil || r.Err != nil {
			continue
		}
		step := changes[i].Step
		if r.refused {
			step = stepRefused
		}
		done.Updated[step] = append(done.Updated[step], r.Pod)
		if r.refused || !changes[i].TurnsTheGate() && !changes[i].TakesTheNode() {
			done.LookAgain(requeue.After(e.Clock.Now(), StaleRetry, requeue.AgainUpdated)) // nobody else has anything to say about it
		}
	}
	e.settle(key, requeue.HoldKey{Condition: v1.ReasonFailedInPlaceUpdate}, results, done)
}

// settle takes the results of requests of one kind. It returns the pods of those that went through, and whether none has failed.
// What the API server has refused is held, and tried again ever later; any other failure is the sync's.
func (e *Executor) settle(key cache.ObjectName, hold requeue.HoldKey, results []Result, done *Outcome) (pods []*corev1.Pod, all bool) {
	memory := e.Memories.Of(key)
	var refused *requeue.Failure
	all = true
	for _, r := range results {
		switch {
		case r.Err != nil:
			all = false
			failure := requeue.Failed(hold.Condition, r.Err)
			done.fail(failure, r.Err)
			if failure.Refused() && refused == nil {
				refused = &failure
			}
		case r.Pod != nil:
			pods = append(pods, r.Pod)
		}
	}
	switch {
	case refused != nil: // once for all of them: each time doubles the hold
		until := memory.Refuse(hold, *refused, done.Manager.Generation, e.Clock.Now())
		done.LookAgain(requeue.LookAgain{At: until, Why: requeue.AgainHold})
	case len(pods) > 0:
		memory.Accept(hold)
	}
	return pods, all
}

const (
	// StaleRetry is how soon to look again whether the cache has caught up. Watch events take milliseconds.
	StaleRetry = 20 * time.Millisecond
	// goneRetry is the same for when there is no version to wait for, because the object is gone or the API server has
	// gone back in time: each look costs a request then.
	goneRetry = time.Second
	// StaleLimit is how long a cache may stay behind before the API server is read instead. It is above what a busy
	// server needs to send its events, and far below what a user would accept. If it stays behind, each further read waits
	// twice as long, up to eight times: a watch that stands still concerns all PodManagers at once.
	StaleLimit = 10 * time.Second
)

// Latency is how long writes have taken of late. A busy API server takes its time.
type Latency struct{ nanoseconds atomic.Int64 }

// Took adds a write. What was before counts for three quarters.
func (l *Latency) Took(duration time.Duration) {
	before := l.nanoseconds.Load()
	l.nanoseconds.Store(before + (int64(duration)-before)/4) // one that is lost to another does not matter
}

func (l *Latency) Now() time.Duration { return time.Duration(l.nanoseconds.Load()) }
