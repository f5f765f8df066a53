package report

import (
	"context"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	klog "k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// Reporter writes statuses and events.
type Reporter struct {
	reconcile.Deps
	recorder *recorder
}

func New(ctx context.Context, deps reconcile.Deps) (*Reporter, error) {
	recorder, err := newRecorder(ctx, &events.EventSinkImpl{Interface: deps.Events.EventsV1()})
	if err != nil {
		return nil, err
	}
	return &Reporter{Deps: deps, recorder: recorder}, nil
}

// Stop writes the last events and stops.
func (r *Reporter) Stop() { r.recorder.stop() }

// Report reports the outcome of a plan in events and in the status. It returns whether it has written, or tried to write, the status.
func (r *Reporter) Report(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan, done *reconcile.Outcome) (bool, error) {
	r.reportEvents(ctx, key, decided, done)
	if done.Collided != "" {
		return true, r.countCollision(ctx, key, done)
	}
	if done.Finalized || done.Outdated {
		return false, nil
	}
	pods, changed := observed.Pods, done.HasActed()
	if changed {
		pods = r.Scopes.Of(key.Namespace).Newer(done.Pods(pods))
	}
	report := decided.Report(done.Manager, pods, changed, observed.Now)
	report.Failure = done.Failure
	wanted, again := status.Compute(report)
	done.Requeue(again)
	if !status.Differs(&done.Manager.Status, &wanted) {
		return false, nil
	}
	now := r.Clock.Now()
	if wait := r.States.Of(key).Pace.Wait(&done.Manager.Status, &wanted, done.Failure, now); wait > 0 {
		klog.FromContext(ctx).V(4).Info("Status can wait", "wait", wait)
		done.Requeue(requeue.After(now, wait, requeue.RequeueStatus))
		return false, nil
	}
	before := done.Manager
	if err := r.writeStatus(ctx, key, done, wanted); err != nil {
		return true, err
	}
	for _, transition := range status.Transitions(before, &before.Status, &wanted) {
		klog.FromContext(ctx).V(2).Info("Rollout", "step", transition.Reason, "message", transition.Message)
		r.recorder.record(before, nil, transition.Type, transition.Reason, "RollOut", transition.Message)
	}
	if before.Status.FailedRevision != wanted.FailedRevision || before.Status.CurrentRevision != wanted.CurrentRevision {
		done.Requeue(requeue.Requeue{At: now, Why: requeue.RequeueMore}) // the next plan depends on these fields
	}
	return true, nil
}

// ReportEarly writes the first status of a new PodManager before a plan that will take a while. If that fails, it only logs the error: Report
// writes the status again after the plan.
func (r *Reporter) ReportEarly(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan, done *reconcile.Outcome) {
	report := decided.Report(done.Manager, observed.Pods, true, observed.Now)
	report.Failure = decided.Blocked
	first, _ := status.Compute(report)
	if err := r.writeStatus(ctx, key, done, first); err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to write the first status", "err", requeue.ErrorText(err))
	}
}

// ReportBroken reports, in the conditions and in an event, that the controller cannot handle a PodManager. It leaves the rest of the
// status as it is, because nothing new is known about the pods.
func (r *Reporter) ReportBroken(ctx context.Context, key cache.ObjectName, reason, event, message string) (err error) {
	defer reconcile.RecoverTo(&err) // the PodManager may make this panic, too
	manager := r.States.Of(key).WithWholeStatus(r.Scopes.Of(key.Namespace).ManagerNamed(key))
	if manager == nil {
		return nil // it is gone
	}
	broken := status.Broken(manager, reason, message, r.Clock.Now())
	if !status.Differs(&manager.Status, &broken) {
		return nil
	}
	r.recorder.warn(manager, nil, event, "Sync", message)
	return r.writeStatus(ctx, key, &reconcile.Outcome{Manager: manager}, broken)
}
