package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// Executor carries out plans.
type Executor struct{ reconcile.Deps }

func New(deps reconcile.Deps) *Executor { return &Executor{Deps: deps} }

// Begin labels objects that lack the label of their shard, or adds the finalizer, or checks whether the plan is outdated. It reports whether to
// proceed with the plan.
func (e *Executor) Begin(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan) (done *reconcile.Outcome, proceed bool) {
	done = &reconcile.Outcome{Manager: observed.Manager, Failure: decided.Blocked, Updated: map[inplace.Step][]*corev1.Pod{}, Again: decided.Again}
	if observed.IsLive {
		done.LookedAt = observed.Now
	}
	e.States.Of(key).BeginPlan()
	if e.labelForShard(ctx, key, observed, done) {
		return done, false
	}
	if decided.AddFinalizer {
		isLive := e.addFinalizer(ctx, key, done)
		if isLive || done.Outdated || done.Err != nil {
			done.LookedAt = e.Clock.Now()
			return done, isLive
		}
		// The API server has refused the finalizer. Proceed with the rest of the plan: the pods have owner references, so they are deleted without
		// the finalizer, too.
	}
	return done, !e.isOutdated(ctx, key, decided, done)
}

// Apply carries out a plan. It stops at a failure that the rest of the plan depends on.
func (e *Executor) Apply(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan, done *reconcile.Outcome) {
	if !e.adoptRevisions(ctx, key, decided.AdoptRevisions, done) || !e.storeRevisions(ctx, key, decided.Store, done) {
		return // without a stored revision, a pod could not be traced to its template later; a refused update of a stored one stops nothing
	}
	e.markRevisions(ctx, key, decided.Mark, done) // before pods are replaced or updated; a refused mark does not stop that
	if done.Outdated || e.isOutdated(ctx, key, decided, done) || !e.applyClaims(ctx, key, decided, done) {
		return
	}
	e.applyUpdates(ctx, key, decided.Update, done)
	annotated := InParallel(len(decided.Annotate), func(i int) PodResult { return e.annotatePod(ctx, key, decided.Annotate[i]) })
	e.collect(key, requeue.BackoffAnnotate, annotated, done)
	if done.Outdated || e.isOutdated(ctx, key, decided, done) {
		return
	}
	// Creates depend on the deletes: if a pod was not deleted, its replacement would be one pod too many.
	if e.applyDelete(ctx, key, decided.Delete, done) {
		e.applyCreate(ctx, key, decided.Create, done)
	}
	if done.Outdated {
		return
	}
	e.dropRevisions(ctx, key, decided.Drop, done)
	if decided.RemoveFinalizer && done.Err == nil {
		done.Finalized = e.removeFinalizer(ctx, key, done) && observed.Manager.DeletionTimestamp != nil
	}
}

// abandonPlan ends the plan, because the cluster is not in the state that the plan assumes. No further request and no status may depend on
// the plan. The next sync reads live, after the backoff of a failed sync.
func (e *Executor) abandonPlan(key cache.ObjectName, done *reconcile.Outcome, why error) {
	e.States.Of(key).ReadLive = true
	done.Outdated = true
	done.AddError(why)
}

// startBackoff puts requests of a kind into backoff, because the API server has refused them. Until the backoff is over, plans omit such requests.
func (e *Executor) startBackoff(key cache.ObjectName, kind requeue.BackoffKey, failure requeue.Failure, done *reconcile.Outcome) {
	until := e.States.Of(key).Refuse(kind, failure, done.Manager, e.Clock.Now())
	done.Requeue(requeue.Requeue{At: until, Why: requeue.RequeueRefused})
}

// newManagerAge is the age up to which a PodManager needs no live read before its first plan. If a user has edited or deleted it in the
// meantime, the cache is only a moment behind, and the next sync or the garbage collector deletes the pods.
const newManagerAge = 10 * time.Second

// liveFor is how long what was read live counts as current. Reading from a slow API server may have taken longer, and so may earlier requests of the
// plan, which a webhook delays.
const liveFor = time.Second

// isOutdated reports, by a live read, whether the PodManager has changed since the plan was made, or since the plan last wrote it. The cache may be
// minutes old, for example if this leader was suspended and does not know yet that another replica leads. One read is a small price for not creating,
// deleting or adopting pods that the user no longer wants. Only the first pods of a new PodManager are created without this read.
func (e *Executor) isOutdated(ctx context.Context, key cache.ObjectName, decided plan.Plan, done *reconcile.Outcome) bool {
	now, manager := e.Clock.Now(), done.Manager
	age := now.Sub(manager.CreationTimestamp.Time)
	isNew := manager.Status.ObservedGeneration < 1 && age > -newManagerAge && age < newManagerAge
	if !decided.NeedsLiveSpec() || now.Sub(done.LookedAt) < liveFor || isNew && !decided.TouchesWhatExists() {
		return false
	}
	live, err := e.Scopes.Live(ctx, e.PodManagers, key)
	if err != nil && !apierrors.IsNotFound(err) {
		done.AddError(fmt.Errorf("checking whether the PodManager is still the same: %w", err))
		return true
	}
	done.LookedAt = e.Clock.Now()
	live = e.States.Of(key).WithWholeStatus(live)
	// Comparing the generation is not enough: after an etcd restore, the same generation may have a different spec.
	if err == nil && live.UID == manager.UID && hasSameIntent(live, manager) && status.RemembersTheSame(&live.Status, &manager.Status) {
		return false
	}
	if err == nil && consistency.IsNewer(live.ResourceVersion, manager.ResourceVersion) {
		e.States.Of(key).Saw(source.ManagersResource, live.ResourceVersion, now) // the cache will show it
	} else {
		e.States.Of(key).ReadLive = true
	}
	done.Outdated = true
	done.AddError(reconcile.Changed(key.String(), errors.New("the PodManager has changed meanwhile, or is gone")))
	return true
}

// applyClaims releases and adopts pods, and reports whether all requests succeeded. The rest of the plan depends on them: if a pod was not released,
// its replacement would be one pod too many, and if a pod was not adopted, a pod would be missing. Refused requests get a backoff, and the next plan
// does without them.
func (e *Executor) applyClaims(ctx context.Context, key cache.ObjectName, decided plan.Plan, done *reconcile.Outcome) bool {
	released := InParallel(len(decided.Release), func(i int) PodResult {
		return e.releasePod(ctx, key, done.Manager, decided.Release[i])
	})
	adopted := InParallel(len(decided.Adopt), func(i int) PodResult {
		return e.adoptPod(ctx, key, done.Manager, decided.Adopt[i])
	})
	var releasedAll, adoptedAll bool
	done.Released, releasedAll = e.collect(key, requeue.BackoffRelease, released, done)
	done.Adopted, adoptedAll = e.collect(key, requeue.BackoffAdopt, adopted, done)
	if !releasedAll || !adoptedAll {
		done.Requeue(requeue.Requeue{At: e.Clock.Now(), Why: requeue.RequeueMore})
	}
	return releasedAll && adoptedAll
}

// applyDelete deletes pods, and reports whether all requests succeeded.
func (e *Executor) applyDelete(ctx context.Context, key cache.ObjectName, deletions []rollout.Deletion, done *reconcile.Outcome) bool {
	results := InParallel(len(deletions), func(i int) PodResult {
		return e.deletePod(ctx, key, done.Manager, deletions[i])
	})
	var all bool
	done.Deleted, all = e.collect(key, requeue.BackoffDelete, results, done)
	return all
}

// applyCreate creates pods with a slow start, and stops at the first failure, so that a quota or a broken template costs a few requests
// instead of hundreds.
func (e *Executor) applyCreate(ctx context.Context, key cache.ObjectName, creations []plan.Creation, done *reconcile.Outcome) {
	results := slowStartBatch(len(creations), func(i int) PodResult {
		return e.createPod(ctx, key, done.Manager, creations[i])
	})
	byRevision := map[requeue.BackoffKey][]PodResult{}
	for i, r := range results {
		kind := plan.CreateBackoff(creations[i].Revision)
		switch {
		case r.Err != nil && requeue.NamespaceIsTerminating(r.Err):
			// Put creates into backoff, because each pod deletion would cause another attempt. Report no failure, because users need not know.
			klog.FromContext(ctx).V(2).Info("Namespace is being deleted, creating nothing")
			e.startBackoff(key, kind, requeue.Failure{}, done)
		case r.taken:
			done.Requeue(requeue.Requeue{At: e.Clock.Now(), Why: requeue.RequeueName}) // the next sync takes another name, or releases the pod
		default:
			byRevision[kind] = append(byRevision[kind], r)
		}
	}
	for kind, results := range byRevision {
		created, _ := e.collect(key, kind, results, done)
		done.Created = append(done.Created, created...)
	}
}

// stepRefused is the step of pods whose in-place update was refused. An annotation of the pod records the refusal.
const stepRefused inplace.Step = "Refused"

// applyUpdates carries out the next step of each in-place update.
func (e *Executor) applyUpdates(ctx context.Context, key cache.ObjectName, updates []inplace.Update, done *reconcile.Outcome) {
	results := InParallel(len(updates), func(i int) PodResult { return e.updatePod(ctx, key, done.Manager, updates[i]) })
	for i, r := range results {
		if r.Err != nil {
			continue
		}
		step := updates[i].Step
		if r.refused {
			step = stepRefused
		}
		done.Updated[step] = append(done.Updated[step], r.Pod)
		if r.refused || !updates[i].IsGateStep() && !updates[i].NeedsKubelet() {
			done.Requeue(requeue.After(e.Clock.Now(), reconcile.StaleRetry, requeue.RequeueUpdated)) // no kubelet will respond with an event
		}
	}
	e.collect(key, requeue.BackoffUpdate, results, done)
}

// collect adds the results of requests of one kind to the outcome. It returns the pods of successful requests, and whether all requests succeeded. If
// the API server refuses a request, collect puts such requests into backoff. If a request finds its object changed, the plan ends. Any other failure
// is an error of the sync.
func (e *Executor) collect(key cache.ObjectName, kind requeue.BackoffKey, results []PodResult, done *reconcile.Outcome) (pods []*corev1.Pod, all bool) {
	var refusal *requeue.Failure
	for _, r := range results {
		if r.Pod != nil && r.Err == nil {
			pods = append(pods, r.Pod)
			continue
		}
		if r.Err == nil {
			r.Err = errNoResult
		}
		failure, isRefused := e.failureOf(key, kind, done.Manager, r.Err)
		switch {
		case isRefused:
			refusal = cmp.Or(refusal, &failure)
			done.AddFailure(failure, r.Err)
		case isChanged(r.Err):
			e.abandonPlan(key, done, r.Err)
		default:
			done.AddFailure(failure, r.Err)
		}
	}
	all = len(pods) == len(results)
	switch {
	case refusal != nil: // once for all requests, because each call doubles the backoff
		e.startBackoff(key, kind, *refusal, done)
	case all && len(pods) > 0:
		e.States.Of(key).Accept(kind)
	}
	return pods, all
}

// errNoResult is for a request with neither a pod nor an error, which would be a bug. Without this error, the sync would end as if nothing were left
// to do.
var errNoResult = reconcile.Changed("", errors.New("the request has no result"))

// recently is how long after a backoff is over another failure of the same kind still counts as a repetition.
const recently = time.Minute

// failureOf returns the failure of a request, and whether to put such requests into backoff. After a plan that found an object changed, the next plan
// is made from a live read. If a request then finds the same object changed again, the object has not really changed: a policy or a webhook refuses
// the request with a response that looks like a change. Adoptions and finalizers get a backoff after any second failure, because the rest of the plan
// can do without them.
func (e *Executor) failureOf(key cache.ObjectName, kind requeue.BackoffKey, manager *v1.PodManager, err error) (failure requeue.Failure, isRefused bool) {
	failure = requeue.Failed(kind.Condition, err)
	state := e.States.Of(key)
	last, wasBlocked := state.BackoffsOf(manager)[kind] // a success would have ended the backoff
	wasBlocked = wasBlocked && e.Clock.Since(last.Until) < recently
	changed, isChanged := errors.AsType[*reconcile.ChangedError](err)
	switch {
	case isChanged && (state.FoundChanged(changed.Object) || wasBlocked):
		failure.Reason = v1.ReasonForbidden
	case isChanged:
		failure.Reason = ""
	case kind == requeue.BackoffAdopt || kind == requeue.BackoffFinalizer:
		return failure, failure.Refused() || state.FoundChanged(kind.Condition)
	}
	return failure, failure.Refused()
}

func isChanged(err error) bool {
	_, ok := errors.AsType[*reconcile.ChangedError](err)
	return ok
}

// changed wraps the error of a request in a ChangedError if it may mean that the object has changed.
func changed(object string, err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return reconcile.Changed(object, err)
	}
	return err
}

// changedUnlessInvalid is like changed, but for requests whose content has no precondition: for these, Invalid is a refusal.
func changedUnlessInvalid(object string, err error) error {
	if apierrors.IsInvalid(err) {
		return err
	}
	return changed(object, err)
}
