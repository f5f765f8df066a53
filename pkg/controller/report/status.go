package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// countCollision increments collisionCount in the status, so that the next sync takes another name for the revision.
func (r *Reporter) countCollision(ctx context.Context, key cache.ObjectName, done *reconcile.Outcome) error {
	counted := *done.Manager.Status.DeepCopy()
	counted.CollisionCount++
	if err := r.writeStatus(ctx, key, done, counted); err != nil {
		return err
	}
	done.Requeue(requeue.After(r.Clock.Now(), reconcile.StaleRetry, requeue.RequeueRevisionName))
	return nil
}

// writeStatus updates the status. On a conflict, another client has changed the PodManager. The status is still true for its
// observedGeneration, so writeStatus then patches it without a resourceVersion: if other clients write frequently, every update could fail.
// If the fields that record rollouts have changed, another controller has written the status, and writeStatus does not overwrite it.
func (r *Reporter) writeStatus(ctx context.Context, key cache.ObjectName, done *reconcile.Outcome, wanted v1.PodManagerStatus) error {
	manager := done.Manager
	client := r.Statuses.PodManagers(key.Namespace)
	updated := manager.DeepCopy()
	updated.Status = wanted
	current, err := client.UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: v1.ControllerName, FieldValidation: metav1.FieldValidationIgnore})
	if apierrors.IsConflict(err) {
		current, err = r.patchStatus(ctx, key, manager, wanted)
	}
	if apierrors.IsNotFound(err) {
		// The PodManager is gone, which a live read will confirm, or a webhook has returned NotFound.
		r.States.Of(key).ReadLive = true
		return reconcile.Changed(key.String(), fmt.Errorf("writing the status: %w", err))
	}
	r.reportStatusFailure(key, manager, err)
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	r.States.Of(key).Pace.Wrote(r.Clock.Now())
	metrics.StatusWrites.Inc()
	r.States.Of(key).Saw(source.ManagersResource, current.ResourceVersion, r.Clock.Now())
	state := r.States.Of(key)
	if state.NoteStatus(&wanted, &current.Status) {
		r.recorder.warn(manager, nil, v1.EventFailedStatus, "UpdateStatus",
			"The API server does not keep the whole status: the CRD is older than the controller, run kubectl apply -f artifacts/crd.yaml")
	}
	done.Manager = state.WithWholeStatus(current)
	klog.FromContext(ctx).V(2).Info("Status written", "reason", status.ReadyReason(&wanted), "replicas", wanted.Replicas, "ready", wanted.ReadyReplicas,
		"available", wanted.AvailableReplicas, "terminating", wanted.TerminatingReplicas, "observedGeneration", wanted.ObservedGeneration)
	return nil
}

var errOtherController = errors.New("another controller has written the status")

// patchStatus writes a status without a resourceVersion, unless another controller has changed the fields that record rollouts.
func (r *Reporter) patchStatus(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, wanted v1.PodManagerStatus) (*v1.PodManager, error) {
	client := r.Statuses.PodManagers(key.Namespace)
	live, err := r.Scopes.Live(ctx, r.PodManagers, key)
	if err != nil {
		return nil, err
	}
	live = r.States.Of(key).WithWholeStatus(live)
	if !status.RemembersTheSame(&live.Status, &manager.Status) {
		r.States.Of(key).Saw(source.ManagersResource, live.ResourceVersion, r.Clock.Now())
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
