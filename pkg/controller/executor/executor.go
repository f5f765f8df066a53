package executor

import (
	"context"
	"fmt"
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

// Deps are the dependencies that the parts of a sync share.
type Deps struct {
	source.Clients
	Scopes       source.ByNamespace
	Tracker      *consistency.Tracker
	Memories     *memory.Memories
	WriteLatency *memory.Latency
	Means        inplace.Means
	Clock        clock.PassiveClock
}

// Executor carries out plans.
type Executor struct {
	Deps
	Lanes Lanes
}

func New(deps Deps, lanes Lanes) *Executor { return &Executor{Deps: deps, Lanes: lanes} }

// Begin brings objects into the shard, adds the finalizer, or makes sure that the plan is not outdated, and tells whether to proceed with
// the plan.
func (e *Executor) Begin(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan) (done *Outcome, proceed bool) {
	done = &Outcome{Manager: observed.Manager, Failure: decided.Held, Updated: map[inplace.Step][]*corev1.Pod{}, Again: decided.Again}
	if e.bringIn(ctx, key, observed, done) {
		return done, false
	}
	if decided.AddFinalizer && !e.addFinalizer(ctx, key, done) {
		return done, false // without the finalizer no pod may be created: it could be left behind
	}
	if !decided.AddFinalizer && decided.NeedsLiveSpec() && e.isOutdated(ctx, key, observed.Manager, done) {
		return done, false
	}
	return done, true
}

// Apply carries out a plan, up to a failure that the rest of the plan depends on.
func (e *Executor) Apply(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan, done *Outcome) {
	if !e.adoptRevisions(ctx, key, decided.AdoptRevisions, done) || !e.storeRevisions(ctx, key, decided.Store, done) {
		return // a pod without a stored revision could not be traced to its template later
	}
	if !e.applyClaims(ctx, key, decided, done) {
		return
	}
	e.applyUpdates(ctx, key, decided.Update, done)
	deleted := e.applyDelete(ctx, key, decided.Delete, done)
	if done.Outdated {
		return
	}
	// Creates depend on the deletes: a pod that was not deleted would be one too many beside its replacement.
	if deleted {
		e.applyCreate(ctx, key, decided.Create, done)
	}
	e.dropRevisions(ctx, decided.Drop, done)
	e.markRevision(ctx, key, decided.Mark, done)
	if decided.RemoveFinalizer && done.err == nil {
		done.Finalized = e.removeFinalizer(ctx, key, done) && observed.Manager.DeletionTimestamp != nil
	}
}

// abandonPlan ends the plan, because the cache was found to be wrong: no further request and no status may depend on it. The next sync
// reads live.
func (e *Executor) abandonPlan(key cache.ObjectName, done *Outcome) {
	e.Memories.Of(key).ReadLive = true
	done.Outdated = true
	done.LookAgain(requeue.After(e.Clock.Now(), StaleRetry, requeue.AgainCache))
}

// newManagerAge is the age up to which a PodManager needs no live read before its first plan. If it was edited or deleted meanwhile, the
// cache is only a moment behind, and the next sync or the garbage collector deletes the pods.
const newManagerAge = 10 * time.Second

// isOutdated tells, by a live read, whether the PodManager has changed since the plan was made. The cache may be minutes old, such as
// that of a frozen leader that does not know yet that another replica leads. One read is a small price for not creating, deleting or
// adopting pods that nobody wants any more.
func (e *Executor) isOutdated(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, done *Outcome) bool {
	now := e.Clock.Now()
	if age := now.Sub(manager.CreationTimestamp.Time); manager.Status.ObservedGeneration < 1 && age > -newManagerAge && age < newManagerAge {
		return false
	}
	live, err := e.Scopes.Live(ctx, e.PodManagers, key)
	if err != nil && !apierrors.IsNotFound(err) {
		done.addError(fmt.Errorf("looking whether the PodManager is still the same: %w", err))
		return true
	}
	// Comparing the generation is not enough: after an etcd restore the same generation may have another spec.
	if err == nil && live.UID == manager.UID && live.DeletionTimestamp.Equal(manager.DeletionTimestamp) &&
		equality.Semantic.DeepEqual(live.Spec, manager.Spec) && status.RemembersTheSame(&live.Status, &manager.Status) {
		return false
	}
	klog.FromContext(ctx).V(2).Info("PodManager has changed or is gone, waiting for the cache to show it", "gone", err != nil)
	wait := liveRetry
	if err == nil && consistency.IsNewer(live.ResourceVersion, manager.ResourceVersion) {
		e.Tracker.Saw(key, source.ManagersResource, live.ResourceVersion, now)
		wait = StaleRetry
	}
	done.Outdated, done.Again = true, requeue.After(now, wait, requeue.AgainCache)
	return true
}

// claimHold is the hold on claiming pods.
var claimHold = requeue.HoldKey{Condition: v1.ReasonFailedClaim}

// applyClaims releases and adopts pods, and tells whether all requests succeeded. The rest of the plan depends on them: a pod that was not
// released would be one too many beside its replacement, and a pod that was not adopted would be missing.
func (e *Executor) applyClaims(ctx context.Context, key cache.ObjectName, decided plan.Plan, done *Outcome) bool {
	released := InParallel(len(decided.Release), e.Lanes.Of(len(decided.Release)), func(i int) PodResult {
		return e.releasePod(ctx, key, done.Manager, decided.Release[i])
	})
	adopted := InParallel(len(decided.Adopt), e.Lanes.Of(len(decided.Adopt)), func(i int) PodResult {
		return e.adoptPod(ctx, key, done.Manager, decided.Adopt[i])
	})
	var releasedAll, adoptedAll bool
	done.Released, releasedAll = e.collect(key, claimHold, released, done)
	done.Adopted, adoptedAll = e.collect(key, claimHold, adopted, done)
	if adoptedAll && len(done.Adopted) < len(decided.Adopt) {
		e.abandonPlan(key, done) // a pod is gone, or has got another controller
		return false
	}
	return releasedAll && adoptedAll
}

// applyDelete deletes pods, and tells whether no request failed.
func (e *Executor) applyDelete(ctx context.Context, key cache.ObjectName, deletions []rollout.Deletion, done *Outcome) bool {
	results := InParallel(len(deletions), e.Lanes.Of(len(deletions)), func(i int) PodResult {
		return e.deletePod(ctx, key, done.Manager, deletions[i])
	})
	var all bool
	done.Deleted, all = e.collect(key, requeue.HoldKey{Condition: v1.ReasonFailedDelete}, results, done)
	if all && len(done.Deleted) < len(deletions) {
		e.abandonPlan(key, done) // a pod was gone already, or has changed
	}
	return all
}

// applyCreate creates pods with a slow start, and stops at the first failure: a quota or a broken template then costs a few requests
// instead of hundreds.
func (e *Executor) applyCreate(ctx context.Context, key cache.ObjectName, creations []plan.Creation, done *Outcome) {
	memory := e.Memories.Of(key)
	results := slowStart(len(creations), memory.SlowStartSize(e.Clock.Now()), e.Lanes.Of(len(creations)), func(i int) PodResult {
		return e.createPod(ctx, key, done.Manager, creations[i])
	})
	byRevision := map[requeue.HoldKey][]PodResult{}
	namespaceTerminating := map[requeue.HoldKey]bool{}
	for i, r := range results {
		hold := requeue.HoldKey{Condition: v1.ReasonFailedCreate, Revision: creations[i].Revision.Hash}
		if r.Err != nil && requeue.NamespaceIsTerminating(r.Err) {
			namespaceTerminating[hold] = true
			continue
		}
		if r.taken {
			memory.NoteTakenName(podstate.PodName(key.Name, creations[i].Index), r.foreign, e.Clock.Now())
		}
		if r.Pod == nil && r.Err == nil {
			// Another pod has, or had, the name: the next sync takes another name.
			done.LookAgain(requeue.After(e.Clock.Now(), StaleRetry, requeue.AgainName))
			continue
		}
		byRevision[hold] = append(byRevision[hold], r)
	}
	failed := false
	for hold, results := range byRevision {
		created, all := e.collect(key, hold, results, done)
		done.Created = append(done.Created, created...)
		failed = failed || !all
	}
	for hold := range namespaceTerminating { // hold without a failure: nobody needs to know, and each pod deletion would bring another try
		klog.FromContext(ctx).V(2).Info("Namespace is being deleted, creating nothing")
		until := memory.Refuse(hold, requeue.Failure{}, done.Manager.Generation, e.Clock.Now())
		done.LookAgain(requeue.LookAgain{At: until, Why: requeue.AgainHold})
		failed = true
	}
	memory.NoteCreates(len(done.Created), !failed, e.Clock.Now())
}

// stepRefused is for pods whose update in place was refused: an annotation of the pod says so.
const stepRefused inplace.Step = "Refused"

// applyUpdates makes the next step of each update in place.
func (e *Executor) applyUpdates(ctx context.Context, key cache.ObjectName, updates []inplace.Update, done *Outcome) {
	results := InParallel(len(updates), e.Lanes.Of(len(updates)), func(i int) PodResult { return e.updatePod(ctx, key, done.Manager, updates[i]) })
	for i, r := range results {
		if r.Pod == nil || r.Err != nil {
			continue
		}
		step := updates[i].Step
		if r.refused {
			step = stepRefused
		}
		done.Updated[step] = append(done.Updated[step], r.Pod)
		if r.refused || !updates[i].IsGateStep() && !updates[i].NeedsKubelet() {
			done.LookAgain(requeue.After(e.Clock.Now(), StaleRetry, requeue.AgainUpdated)) // no kubelet will answer with an event
		}
	}
	e.collect(key, requeue.HoldKey{Condition: v1.ReasonFailedInPlaceUpdate}, results, done)
}

// collect adds the results of requests of one kind to the outcome. It returns the pods of successful requests, and whether no request
// failed. A refusal by the API server starts a hold with backoff; any other failure is an error of the sync.
func (e *Executor) collect(key cache.ObjectName, hold requeue.HoldKey, results []PodResult, done *Outcome) (pods []*corev1.Pod, all bool) {
	memory := e.Memories.Of(key)
	var refused *requeue.Failure
	all = true
	for _, r := range results {
		switch {
		case r.Err != nil:
			all = false
			failure := requeue.Failed(hold.Condition, r.Err)
			done.addFailure(failure, r.Err)
			if failure.Refused() && refused == nil {
				refused = &failure
			}
		case r.Pod != nil:
			pods = append(pods, r.Pod)
		}
	}
	switch {
	case refused != nil: // once for all requests: each call doubles the hold
		until := memory.Refuse(hold, *refused, done.Manager.Generation, e.Clock.Now())
		done.LookAgain(requeue.LookAgain{At: until, Why: requeue.AgainHold})
	case len(pods) > 0:
		memory.Accept(hold)
	}
	return pods, all
}

const (
	// StaleRetry is how soon to requeue a key whose cache is behind. Watch events take milliseconds.
	StaleRetry = 20 * time.Millisecond
	// liveRetry is how soon to requeue a key that has no resourceVersion to wait for, because the object is gone or the API server has
	// gone back in time: each retry costs a live read.
	liveRetry = time.Second
	// StaleLimit is how long a cache may stay behind before a sync reads live. A busy API server sends its events sooner, and users
	// would not wait much longer. While the cache stays behind, each further live read waits twice as long, up to eight times: a watch that
	// stands still affects all PodManagers at once.
	StaleLimit = 10 * time.Second
)
