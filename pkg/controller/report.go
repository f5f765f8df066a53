package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// Reporter tells what is done and how things are: in statuses and events.
type Reporter struct {
	Deps
	recorder *recorder
	// statuses is how many statuses are being written.
	statuses atomic.Int32
}

func newReporter(ctx context.Context, deps Deps) (*Reporter, error) {
	recorder, err := newRecorder(ctx, deps.Reports)
	if err != nil {
		return nil, err
	}
	return &Reporter{Deps: deps, recorder: recorder}, nil
}

// start begins to write events, and stop ends that once the last are written.
func (r *Reporter) start(ctx context.Context) error { return r.recorder.start(ctx) }
func (r *Reporter) stop()                           { r.recorder.stop() }

// report tells what was done: in events, and in the status. It returns whether the status was written.
func (r *Reporter) report(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan, done *outcome) (bool, error) {
	r.reportEvents(key, decided, done)
	if done.collided != "" {
		return true, r.countCollision(ctx, key, done)
	}
	if done.finalized || done.outdated {
		return false, nil
	}
	pods, changed := observed.Pods, done.hasActed()
	if changed {
		pods = r.scopes.of(key.Namespace).newer(done.pods(pods))
	}
	wanted, again := status.Of(status.Report{
		Manager: done.manager, Plan: decided, Pods: pods, Changed: changed || len(decided.Adopt) > 0, Failure: done.failure, Now: observed.Now,
	})
	done.lookAgain(again)
	if !status.Differs(&done.manager.Status, &wanted) {
		return false, nil
	}
	now := r.clock.Now()
	defer r.statuses.Add(-1)
	if r.statuses.Add(1) > r.statusesAtOnce() {
		done.lookAgain(requeue.After(now, r.statusTurn(), requeue.AgainStatus))
		return false, nil
	}
	if wait := r.memories.of(key).pace.Wait(&done.manager.Status, &wanted, changed, done.failure, r.writes.now(), now); wait > 0 {
		klog.FromContext(ctx).V(4).Info("Status can wait", "wait", wait)
		done.lookAgain(requeue.After(now, wait, requeue.AgainStatus))
		return false, nil
	}
	before := done.manager
	if err := r.writeStatus(ctx, key, done, wanted); err != nil {
		return true, err
	}
	for _, step := range status.Transitions(before, &before.Status, &wanted) {
		r.recorder.record(before, nil, step.Type, step.Reason, "RollOut", step.Message)
	}
	if before.Status.FailedRevision != wanted.FailedRevision || before.Status.CurrentRevision != wanted.CurrentRevision {
		done.lookAgain(requeue.LookAgain{At: now, Why: requeue.AgainMore}) // it was written down, now something follows from it
	}
	return true, nil
}

// countCollision makes the next sync take another name for the revision.
func (r *Reporter) countCollision(ctx context.Context, key cache.ObjectName, done *outcome) error {
	counted := *done.manager.Status.DeepCopy()
	counted.CollisionCount++
	if err := r.writeStatus(ctx, key, done, counted); err != nil {
		return err
	}
	done.lookAgain(requeue.After(r.clock.Now(), staleRetry, requeue.AgainRevisionName))
	return nil
}

// Statuses make way for pods: few are written at the same time, and fewer while the API server is busy. Nobody waits for a place:
// workers have pods to look after.
const (
	maxStatuses, maxStatusesBusy = 8, 1
	busyFrom                     = 30 * time.Millisecond
)

func (r *Reporter) statusesAtOnce() int32 {
	if r.writes.now() > busyFrom {
		return maxStatusesBusy
	}
	return maxStatuses
}

// statusTurn is how long it is until the next try to get a place, the longer the busier the API server is.
func (r *Reporter) statusTurn() time.Duration {
	wait := max(100*time.Millisecond, min(10*r.writes.now(), time.Second))
	return wait + time.Duration(rand.Float64()*float64(wait))
}

// tellAhead writes the first status of a new PodManager before a plan that will take a while. If that fails, there is another one
// to come.
func (r *Reporter) tellAhead(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan, done *outcome) {
	status, _ := status.Of(status.Report{Manager: done.manager, Plan: decided, Pods: observed.Pods, Changed: true, Failure: decided.Held, Now: observed.Now})
	if err := r.writeStatus(ctx, key, done, status); err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot tell ahead what will be done", "err", requeue.Words(err))
	}
}

// writeStatus writes a status that differs. A conflict means that somebody else has changed the object. What was observed
// stays true for the generation that the status names, so it is then patched onto whatever the object is by now: with a
// resourceVersion, somebody who writes often enough could keep the status from ever being written. What the status
// remembers of rollouts is another matter: if that has changed, another controller is at work, and knows better.
func (r *Reporter) writeStatus(ctx context.Context, key cache.ObjectName, done *outcome, status v1.PodManagerStatus) error {
	manager, began := done.manager, r.clock.Now()
	client := r.Statuses.AppsV1().PodManagers(key.Namespace)
	wanted := manager.DeepCopy()
	wanted.Status = status
	current, err := client.UpdateStatus(ctx, wanted, metav1.UpdateOptions{FieldManager: v1.ControllerName, FieldValidation: metav1.FieldValidationIgnore})
	if apierrors.IsConflict(err) {
		current, err = r.patchStatus(ctx, key, manager, status)
	}
	if apierrors.IsNotFound(err) {
		return nil // gone in the meantime: its deletion brings the key back
	}
	r.reportStatusFailure(key, manager, err)
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	r.writes.took(r.clock.Since(began))
	statusWrites.Inc()
	wroteManager(r.tracker, key, manager, current, r.clock.Now())
	done.manager = current
	klog.FromContext(ctx).V(2).Info("Status written", "replicas", status.Replicas, "ready", status.ReadyReplicas,
		"available", status.AvailableReplicas, "terminating", status.TerminatingReplicas, "observedGeneration", status.ObservedGeneration)
	return nil
}

// latency is how long writes have taken of late. A busy API server takes its time.
type latency struct{ nanoseconds atomic.Int64 }

// took adds a write. What was before counts for three quarters.
func (l *latency) took(duration time.Duration) {
	before := l.nanoseconds.Load()
	l.nanoseconds.Store(before + (int64(duration)-before)/4) // one that is lost to another does not matter
}

func (l *latency) now() time.Duration { return time.Duration(l.nanoseconds.Load()) }

// patchStatus writes a status whatever the resourceVersion, if nobody else has written one that matters.
func (r *Reporter) patchStatus(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, wanted v1.PodManagerStatus) (*v1.PodManager, error) {
	client := r.Statuses.AppsV1().PodManagers(key.Namespace)
	live, err := r.scopes.live(ctx, r.PodManagers, key)
	if err != nil {
		return nil, err
	}
	if !status.RemembersTheSame(&live.Status, &manager.Status) {
		r.tracker.Saw(key, managersResource, live.ResourceVersion, r.clock.Now())
		return nil, errors.New("another controller has written it")
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": manager.UID},
		{"op": "add", "path": "/status", "value": wanted},
	})
	if err != nil {
		return nil, err
	}
	return client.Patch(ctx, key.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: v1.ControllerName, FieldValidation: metav1.FieldValidationIgnore}, "status")
}

// tellBroken shows, in the conditions and in an event, that the controller cannot handle a PodManager. It touches
// nothing but the conditions: what else there is to say is not known.
func (r *Reporter) tellBroken(ctx context.Context, key cache.ObjectName, reason, event, message string) (err error) {
	defer caught(&err) // the object may be what breaks this, too
	manager, err := r.scopes.of(key.Namespace).PodManagers.Lister().PodManagers(key.Namespace).Get(key.Name)
	if err != nil {
		return err
	}
	broken := status.Broken(manager, reason, message, r.clock.Now())
	if !status.Differs(&manager.Status, &broken) {
		return nil
	}
	r.recorder.warn(manager, nil, event, "Sync", message)
	return r.writeStatus(ctx, key, &outcome{manager: manager}, broken)
}
