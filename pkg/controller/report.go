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

// report tells what was done: in events, and in the status. It returns whether the status was written.
func (c *Controller) report(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan, done *outcome) (bool, error) {
	c.reportEvents(key, decided, done)
	if done.finalized || done.outdated {
		return false, nil
	}
	pods, changed := observed.Pods, done.hasActed()
	if changed {
		pods = c.scopeOf(key.Namespace).newer(done.pods(pods))
	}
	wanted, again := status.Of(status.Report{
		Manager: done.manager, Plan: decided, Pods: pods, Changed: changed || len(decided.Adopt) > 0, Failure: done.failure, Now: observed.Now,
	})
	done.lookAgain(again)
	if !status.Differs(&done.manager.Status, &wanted) {
		return false, nil
	}
	now := c.clock.Now()
	defer c.statuses.Add(-1)
	if c.statuses.Add(1) > c.statusesAtOnce() {
		done.lookAgain(requeue.After(now, c.statusTurn(), requeue.AgainStatus))
		return false, nil
	}
	if wait := c.memories.of(key).pace.Wait(&done.manager.Status, &wanted, changed, done.failure, c.writes.now(), now); wait > 0 {
		klog.FromContext(ctx).V(4).Info("Status can wait", "wait", wait)
		done.lookAgain(requeue.After(now, wait, requeue.AgainStatus))
		return false, nil
	}
	before := done.manager
	if err := c.writeStatus(ctx, key, done, wanted); err != nil {
		return true, err
	}
	for _, step := range status.Transitions(before, &before.Status, &wanted) {
		c.recorder.record(before, nil, step.Type, step.Reason, "RollOut", step.Message)
	}
	if before.Status.FailedRevision != wanted.FailedRevision || before.Status.CurrentRevision != wanted.CurrentRevision {
		done.lookAgain(requeue.LookAgain{At: now, Why: requeue.AgainMore}) // it was written down, now something follows from it
	}
	return true, nil
}

// Statuses make way for pods: few are written at the same time, and fewer while the API server is busy. Nobody waits for a place:
// workers have pods to look after.
const (
	maxStatuses, maxStatusesBusy = 8, 1
	busyFrom                     = 30 * time.Millisecond
)

func (c *Controller) statusesAtOnce() int32 {
	if c.writes.now() > busyFrom {
		return maxStatusesBusy
	}
	return maxStatuses
}

// statusTurn is how long it is until the next try to get a place, the longer the busier the API server is.
func (c *Controller) statusTurn() time.Duration {
	wait := max(100*time.Millisecond, min(10*c.writes.now(), time.Second))
	return wait + time.Duration(rand.Float64()*float64(wait))
}

// tellAhead writes the first status of a new PodManager before a plan that will take a while. If that fails, there is another one
// to come.
func (c *Controller) tellAhead(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan, done *outcome) {
	status, _ := status.Of(status.Report{Manager: done.manager, Plan: decided, Pods: observed.Pods, Changed: true, Failure: decided.Held, Now: observed.Now})
	if err := c.writeStatus(ctx, key, done, status); err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot tell ahead what will be done", "err", requeue.Words(err))
	}
}

// writeStatus writes a status that differs. A conflict means that somebody else has changed the object. What was observed
// stays true for the generation that the status names, so it is then patched onto whatever the object is by now: with a
// resourceVersion, somebody who writes often enough could keep the status from ever being written. What the status
// remembers of rollouts is another matter: if that has changed, another controller is at work, and knows better.
func (c *Controller) writeStatus(ctx context.Context, key cache.ObjectName, done *outcome, status v1.PodManagerStatus) error {
	manager, began := done.manager, c.clock.Now()
	client := c.Statuses.AppsV1().PodManagers(key.Namespace)
	wanted := manager.DeepCopy()
	wanted.Status = status
	current, err := client.UpdateStatus(ctx, wanted, metav1.UpdateOptions{FieldManager: Name, FieldValidation: metav1.FieldValidationIgnore})
	if apierrors.IsConflict(err) {
		current, err = c.patchStatus(ctx, key, manager, status)
	}
	if apierrors.IsNotFound(err) {
		return nil // gone in the meantime: its deletion brings the key back
	}
	c.reportStatusFailure(key, manager, err)
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	c.writes.took(c.clock.Since(began))
	statusWrites.Inc()
	c.wroteManager(key, manager, current)
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
func (c *Controller) patchStatus(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, wanted v1.PodManagerStatus) (*v1.PodManager, error) {
	client := c.Statuses.AppsV1().PodManagers(key.Namespace)
	live, err := c.getManager(ctx, key)
	if err != nil {
		return nil, err
	}
	if !status.RemembersTheSame(&live.Status, &manager.Status) {
		c.tracker.Saw(key, managersResource, live.ResourceVersion, c.clock.Now())
		return nil, errors.New("another controller has written it")
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": manager.UID},
		{"op": "add", "path": "/status", "value": wanted},
	})
	if err != nil {
		return nil, err
	}
	return client.Patch(ctx, key.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: Name, FieldValidation: metav1.FieldValidationIgnore}, "status")
}
