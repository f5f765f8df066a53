package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	rand "math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/executor"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// countCollision makes the next sync take another name for the revision.
func (r *Reporter) countCollision(ctx context.Context, key cache.ObjectName, done *executor.Outcome) error {
	counted := *done.Manager.Status.DeepCopy()
	counted.CollisionCount++
	if err := r.writeStatus(ctx, key, done, counted); err != nil {
		return err
	}
	done.LookAgain(requeue.After(r.Clock.Now(), executor.StaleRetry, requeue.AgainRevisionName))
	return nil
}

// Statuses make way for pods: few are written at the same time, and fewer while the API server is busy. Nobody waits for a place:
// workers have pods to look after.
const (
	maxStatuses, maxStatusesBusy = 8, 1
	busyFrom                     = 30 * time.Millisecond
)

func (r *Reporter) statusesAtOnce() int32 {
	if r.Writes.Now() > busyFrom {
		return maxStatusesBusy
	}
	return maxStatuses
}

// statusTurn is how long it is until the next try to get a place, the longer the busier the API server is.
func (r *Reporter) statusTurn() time.Duration {
	wait := max(100*time.Millisecond, min(10*r.Writes.Now(), time.Second))
	return wait + time.Duration(rand.Float64()*float64(wait))
}

// writeStatus writes a status that differs. A conflict means that somebody else has changed the object. What was observed
// stays true for the generation that the status names, so it is then patched onto whatever the object is by now: with a
// resourceVersion, somebody who writes often enough could keep the status from ever being written. What the status
// remembers of rollouts is another matter: if that has changed, another controller is at work, and knows better.
func (r *Reporter) writeStatus(ctx context.Context, key cache.ObjectName, done *executor.Outcome, status v1.PodManagerStatus) error {
	manager, began := done.Manager, r.Clock.Now()
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
	r.Writes.Took(r.Clock.Since(began))
	metrics.StatusWrites.Inc()
	executor.WroteManager(r.Tracker, key, manager, current, r.Clock.Now())
	done.Manager = current
	klog.FromContext(ctx).V(2).Info("Status written", "replicas", status.Replicas, "ready", status.ReadyReplicas,
		"available", status.AvailableReplicas, "terminating", status.TerminatingReplicas, "observedGeneration", status.ObservedGeneration)
	return nil
}

// patchStatus writes a status whatever the resourceVersion, if nobody else has written one that matters.
func (r *Reporter) patchStatus(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, wanted v1.PodManagerStatus) (*v1.PodManager, error) {
	client := r.Statuses.AppsV1().PodManagers(key.Namespace)
	live, err := r.Scopes.Live(ctx, r.PodManagers, key)
	if err != nil {
		return nil, err
	}
	if !status.RemembersTheSame(&live.Status, &manager.Status) {
		r.Tracker.Saw(key, source.ManagersResource, live.ResourceVersion, r.Clock.Now())
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
