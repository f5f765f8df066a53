package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	klog "k8s.io/klog/v2"
	"k8s.io/utils/clock"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/executor"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/queue"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/report"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/controller/syncstate"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/shard"
)

// syncDrainTimeout is how long running syncs may continue after the controller was told to stop.
const syncDrainTimeout = 20 * time.Second

// ErrStopNow, as the cancellation cause of the context given to Run, cancels running syncs instead of letting them finish. It is for a leader
// that has lost its lease: another leader may already be running.
var ErrStopNow = errors.New("stop without draining")

// Controller reconciles PodManagers. Make one with New.
type Controller struct {
	reconcile.Deps
	scheduler *queue.Scheduler
	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName] // the scheduler's workqueue

	executor *executor.Executor
	reporter *report.Reporter
	// makePlan is plan.Make; tests replace it.
	makePlan func(plan.Observed) plan.Plan

	// shard has the PodManagers that this controller syncs.
	shard shard.Shard
}

// New returns a controller for the PodManagers and pods of the given scopes, which all belong to the same shard. The caller starts their
// informers; see source.Scopes. The controller decides by the clock now, which may differ from the clock of the machine.
func New(ctx context.Context, clients source.Clients, scopes []source.Scope, capabilities inplace.Capabilities, spreading plan.Spreading,
	now clock.PassiveClock) (*Controller, error) {
	deps := reconcile.Deps{
		Clients: clients, Scopes: source.NewByNamespace(scopes), States: syncstate.New(),
		Capabilities: capabilities, Spreading: spreading, Clock: now,
	}
	reporter, err := report.New(ctx, deps)
	if err != nil {
		return nil, err
	}
	part := scopes[0].Shard()
	scheduler := queue.New(deps.Clock, part.Has)
	for trigger := range queue.Triggers() {
		metrics.Triggers.WithLabelValues(string(trigger)) // a counter that first appears at 1 shows no increase
	}
	return &Controller{
		Deps:      deps,
		scheduler: scheduler,
		queue:     scheduler.Workqueue,
		executor:  executor.New(deps),
		reporter:  reporter,
		makePlan:  plan.Make,
		shard:     part,
	}, nil
}

// Run syncs PodManagers with the given number of workers until ctx is done. It then lets running syncs finish (but see ErrStopNow), and returns
// when all workers have stopped. The keys that are still queued are left to the next leader.
func (c *Controller) Run(ctx context.Context, workers int) error {
	defer utilruntime.HandleCrashWithContext(ctx)
	logger := klog.FromContext(ctx)

	defer c.Nodes.Listen(c.nodesChanged)() // before the first sync asks about a node
	var watchers sync.WaitGroup
	for _, scope := range c.Scopes {
		watchers.Go(func() { c.follow(ctx, scope) })
		if c.shard.Count > 0 {
			watchers.Go(func() { c.handOver(ctx, scope) })
		}
	}
	defer watchers.Wait()

	// Syncs get a context that outlives ctx, so that a graceful shutdown does not cancel their requests.
	syncCtx, cancelSyncs := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelSyncs()
	var running sync.WaitGroup
	logger.Info("Starting workers", "count", workers)
	c.scheduler.Employ(workers)
	for range workers {
		running.Go(func() {
			for ctx.Err() == nil && c.processNextWorkItem(syncCtx) {
			}
		})
	}

	<-ctx.Done()
	c.queue.ShutDown()
	if errors.Is(context.Cause(ctx), ErrStopNow) {
		cancelSyncs()
	}
	logger.Info("Draining workers", "timeout", syncDrainTimeout)
	defer time.AfterFunc(syncDrainTimeout, cancelSyncs).Stop()
	running.Wait()
	logger.Info("Workers have stopped")
	return nil
}

// Shutdown writes the events of the last syncs, and stops what New has started. Call it after Run, and after releasing the lease: a standby
// should not have to wait for these events before it takes over.
func (c *Controller) Shutdown() {
	c.queue.ShutDown() // Run has not done so on a standby
	c.reporter.Stop()
}

// processNextWorkItem syncs one key. It is the only place that requeues a key.
func (c *Controller) processNextWorkItem(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	if !c.scheduler.Begin(key) {
		return true // its namespace already has its share of workers: the key waits
	}
	defer c.scheduler.End(key)
	triggers := c.scheduler.Take(key)
	if len(triggers) == 0 {
		return true
	}
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "podManager", key)
	logger.V(4).Info("Syncing", "triggers", triggers)
	for _, t := range triggers {
		metrics.Triggers.WithLabelValues(string(t)).Inc()
	}
	started := c.Clock.Now()
	result, again, err := c.syncIsolated(klog.NewContext(ctx, logger), key)
	again = c.scheduler.Finish(key, again, result == metrics.ResultWaiting || c.States.IsRefused(key), err)
	changed, isChanged := errors.AsType[*reconcile.ChangedError](err)
	switch {
	case isChanged:
		logger.V(2).Info("Plan outdated, trying again", "because", requeue.ErrorText(changed), "failures", c.queue.NumRequeues(key), "at", again.At)
		result, err = metrics.ResultConflict, nil
	case err != nil:
		logger.Error(errors.New(requeue.ErrorText(err)), "Sync failed, will try again", "failures", c.queue.NumRequeues(key), "at", again.At)
	case !again.Never():
		logger.V(4).Info("Requeued", "at", again.At, "why", again.Why)
	}
	metrics.ObserveSync(c.Clock.Since(started), result, err)
	return true
}

// syncIsolated syncs one PodManager. A panic for one PodManager must not stop the others: it becomes an error with backoff, and is reported
// in the status of that PodManager.
func (c *Controller) syncIsolated(ctx context.Context, key cache.ObjectName) (result metrics.SyncResult, again requeue.Requeue, err error) {
	err = func() (err error) {
		defer reconcile.RecoverTo(&err)
		result, again, err = c.syncHandler(ctx, key)
		return err
	}()
	if caught, ok := errors.AsType[*reconcile.PanicError](err); ok {
		klog.FromContext(ctx).Error(err, "Panic while syncing", "stack", string(caught.Stack))
		why := fmt.Sprintf("the controller has a bug that this object triggers (%v); the log of the controller has the details", caught.Value)
		if err := c.reporter.ReportBroken(ctx, key, v1.ReasonInternalError, v1.EventInternal, why); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to report in the status that the object is not handled")
		}
	}
	return result, again, err
}

// syncHandler brings one PodManager a step closer to its spec: it gathers, decides, applies the plan and reports. It writes the status even
// if applying the plan failed, because the status matters most then. It returns when to requeue the key.
func (c *Controller) syncHandler(ctx context.Context, key cache.ObjectName) (metrics.SyncResult, requeue.Requeue, error) {
	logger := klog.FromContext(ctx)
	now := c.Clock.Now()

	observed, again, err := c.gather(ctx, key, now)
	if err != nil || observed == nil {
		return metrics.ResultWaiting, again, c.reportRefusedRead(ctx, key, err)
	}
	logger.V(4).Info("Gathered", "generation", observed.Manager.Generation, "desired", observed.Manager.DesiredReplicas(),
		"pods", len(observed.Pods), "orphans", len(observed.Orphans))
	if why, broken := observed.Manager.Annotations[source.Undecodable]; broken && observed.Manager.DeletionTimestamp == nil {
		why = "a field of the object has the wrong type or is too large: " + why
		return metrics.ResultUnchanged, requeue.Requeue{}, c.reporter.ReportBroken(ctx, key, v1.ReasonUndecodable, v1.EventUndecodable, why)
	}

	observed, decided, err := c.decide(ctx, key, observed)
	if err != nil || observed == nil {
		return metrics.ResultWaiting, requeue.Requeue{}, c.reportRefusedRead(ctx, key, err)
	}
	logger.V(4).Info("Decided", "create", len(decided.Create), "delete", len(decided.Delete), "adopt", len(decided.Adopt),
		"release", len(decided.Release), "change", len(decided.Update), "store", len(decided.Store),
		"addFinalizer", decided.AddFinalizer, "removeFinalizer", decided.RemoveFinalizer)
	c.States.Of(key).Remember(observed.Manager, decided)

	done := c.apply(ctx, key, observed, decided)
	wrote, err := c.reporter.Report(ctx, key, observed, decided, done)
	done.Requeue(c.States.Of(key).NextRecheck())
	if c.States.Of(key).Waiting() {
		// If the watch has stalled, no event enqueues the key.
		done.Requeue(requeue.After(c.Clock.Now(), reconcile.StaleLimit, requeue.RequeueUncertain))
	}
	logger.V(4).Info("Synced", "duration", c.Clock.Since(now), "created", len(done.Created), "deleted", len(done.Deleted), "statusWritten", wrote)
	result := metrics.ResultChanged
	if (decided.Empty() || done.Outdated) && !wrote && len(done.Deleted) == 0 {
		result = metrics.ResultUnchanged
	}
	return result, done.Again, done.Failed(err)
}

// reportRefusedRead returns the error of a read. If the API server forbids the read, it first writes that to the status. Without that, users would
// not see the reason: a status usually reports the failures of a plan, and no plan is made until a user grants the right to read.
func (c *Controller) reportRefusedRead(ctx context.Context, key cache.ObjectName, err error) error {
	if apierrors.IsForbidden(err) {
		if reporting := c.reporter.ReportBroken(ctx, key, v1.ReasonReadForbidden, v1.EventReadForbidden, requeue.ErrorText(err)); reporting != nil {
			klog.FromContext(ctx).Error(reporting, "Failed to report in the status that a read is forbidden")
		}
	}
	return err
}

// apply carries out a plan, unless it is outdated.
func (c *Controller) apply(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan) *reconcile.Outcome {
	done, proceed := c.executor.Begin(ctx, key, observed, decided)
	if proceed && decided.NeedsStatusFirst(observed.Manager) {
		c.reporter.ReportEarly(ctx, key, observed, decided, done)
	}
	if proceed {
		c.executor.Apply(ctx, key, observed, decided, done)
	}
	if len(done.Created) > 0 {
		// The next sync waits until the cache shows the new pods, and the cache is then newer than this sync. Other writes do not prove that: a
		// patch that changes nothing returns an old resourceVersion.
		c.States.Of(key).PodsAsOf = observed.Now
	}
	return done
}
