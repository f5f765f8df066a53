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

// countCollision increments collisionCount in the status, so that the next sync takes another name for the revision.
func (r *Reporter) countCollision(ctx context.Context, key cache.ObjectName, done *executor.Outcome) error {
	counted := *done.Manager.Status.DeepCopy()
	counted.CollisionCount++
	if err := r.writeStatus(ctx, key, done, counted); err != nil {
		return err
	}
	done.LookAgain(requeue.After(r.Clock.Now(), executor.StaleRetry, requeue.AgainRevisionName))
	return nil
}

// Pod requests come before statuses: few statuses are written at the same time, and fewer while the API server is busy, but for urgent and late
// ones. A worker does not wait for its turn but requeues the key, because it has other pods to create and delete.
const (
	idleStatusWrites, lateStatusWrites, busyStatusWrites = 8, 4, 1
	// busyCongestion is the congestion above which the API server counts as busy.
	busyCongestion = 30 * time.Millisecond
)

// maxStatusWrites is how many statuses may be written at the same time.
func maxStatusWrites(isUrgent, isLate bool, congestion time.Duration) int32 {
	switch {
	case isUrgent || congestion <= busyCongestion:
		return idleStatusWrites
	case isLate:
		return lateStatusWrites
	default:
		return busyStatusWrites
	}
}

// statusRetry is when to try again to write a status: the later, the busier the API server.
func statusRetry(congestion time.Duration) time.Duration {
	wait := max(100*time.Millisecond, min(10*congestion, time.Second))
	return wait + time.Duration(rand.Float64()*float64(wait))
}

// writeStatus updates the status. On a conflict somebody else has changed the PodManager. The status is still true for its
// observedGeneration, so it is then patched without a resourceVersion: frequent writes by others could make each update fail. But if the
// fields changed that remember rollouts, another controller has written the status, and this one is not written.
func (r *Reporter) writeStatus(ctx context.Context, key cache.ObjectName, done *executor.Outcome, wanted v1.PodManagerStatus) error {
	manager, began := done.Manager, r.Clock.Now()
	client := r.Statuses.PodManagers(key.Namespace)
	updated := manager.DeepCopy()
	updated.Status = wanted
	current, err := client.UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: v1.ControllerName, FieldValidation: metav1.FieldValidationIgnore})
	if apierrors.IsConflict(err) {
		current, err = r.patchStatus(ctx, key, manager, wanted)
	}
	if apierrors.IsNotFound(err) {
		return nil // the PodManager is gone: its delete event enqueues the key
	}
	r.reportStatusFailure(key, manager, err)
	if err != nil {
		r.noteUncertainEnd(key, manager, &wanted, err)
		return fmt.Errorf("writing the status: %w", err)
	}
	r.WriteLatency.Took(r.Clock.Since(began), r.Clock.Now())
	metrics.StatusWrites.Inc()
	r.countRollout(ctx, key, manager, &wanted)
	executor.WroteManager(r.Tracker, key, manager, current, r.Clock.Now())
	done.Manager = current
	klog.FromContext(ctx).V(2).Info("Status written", "reason", status.ReadyReason(&wanted), "replicas", wanted.Replicas, "ready", wanted.ReadyReplicas,
		"available", wanted.AvailableReplicas, "terminating", wanted.TerminatingReplicas, "observedGeneration", wanted.ObservedGeneration)
	return nil
}

var errOtherController = errors.New("another controller has written it")

// patchStatus writes a status without a resourceVersion, unless another controller has changed what the status remembers of rollouts.
func (r *Reporter) patchStatus(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, wanted v1.PodManagerStatus) (*v1.PodManager, error) {
	client := r.Statuses.PodManagers(key.Namespace)
	live, err := r.Scopes.Live(ctx, r.PodManagers, key)
	if err != nil {
		return nil, err
	}
	if !status.RemembersTheSame(&live.Status, &manager.Status) {
		r.Tracker.Saw(key, source.ManagersResource, live.ResourceVersion, r.Clock.Now())
		return nil, errOtherController
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
