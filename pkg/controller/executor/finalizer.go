package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// addFinalizer keeps the PodManager from being gone before the controller has deleted or released its pods.
func (e *Executor) addFinalizer(ctx context.Context, key cache.ObjectName, done *Outcome) bool {
	return e.changeFinalizers(ctx, key, done, append(slices.Clone(done.Manager.Finalizers), v1.Finalizer))
}

// removeFinalizer lets the API server complete the deletion of a PodManager.
func (e *Executor) removeFinalizer(ctx context.Context, key cache.ObjectName, done *Outcome) bool {
	isOurs := func(name string) bool { return name == v1.Finalizer }
	return e.changeFinalizers(ctx, key, done, slices.DeleteFunc(slices.Clone(done.Manager.Finalizers), isOurs))
}

// changeFinalizers writes the finalizers of the PodManager with this UID, if it still has the observed finalizers, and tells whether to
// proceed with the plan. The precondition is the list of finalizers and not the resourceVersion, because frequent writes by others would
// make that fail each time. The answer shows whether the spec is still the one of the plan.
func (e *Executor) changeFinalizers(ctx context.Context, key cache.ObjectName, done *Outcome, finalizers []string) bool {
	planned := done.Manager
	var before any // a JSON patch tests for null if there are no finalizers
	if len(planned.Finalizers) > 0 {
		before = planned.Finalizers
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": planned.UID},
		{"op": "test", "path": "/metadata/finalizers", "value": before},
		{"op": "add", "path": "/metadata/finalizers", "value": finalizers},
	})
	if err != nil {
		done.addError(err)
		return false
	}
	live, err := e.PodManagers.PodManagers(key.Namespace).Patch(ctx, key.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: v1.ControllerName, FieldValidation: metav1.FieldValidationIgnore})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err), apierrors.IsConflict(err):
		// The PodManager is gone, has other finalizers, or is being deleted, so that no finalizer can be added.
		klog.FromContext(ctx).V(2).Info("PodManager is not as the cache shows it", "err", err)
		e.abandonPlan(key, done)
		return false
	case err != nil:
		// Even a refusal is an error with backoff instead of a hold: without the finalizer the plan cannot proceed.
		err = fmt.Errorf("changing the finalizers: %w", err)
		done.addFailure(requeue.Failed(v1.ReasonFailedFinal, err), nil)
		done.addError(err)
		return false
	}
	klog.FromContext(ctx).V(2).Info("Changed the finalizers", "finalizers", finalizers)
	WroteManager(e.Tracker, key, planned, live, e.Clock.Now())
	done.Manager = live
	if !hasSameIntent(planned, live) {
		e.abandonPlan(key, done)
		return false
	}
	return true
}

// hasSameIntent tells whether two versions of a PodManager have the same spec and the same deletionTimestamp.
func hasSameIntent(a, b *v1.PodManager) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec) && a.DeletionTimestamp.Equal(b.DeletionTimestamp)
}

// WroteManager makes the next sync wait until the cache shows the write. The event of the write is an echo only if the written PodManager
// has the synced spec: a spec that no sync has seen yet needs a sync.
func WroteManager(tracker *consistency.Tracker, key cache.ObjectName, synced, written *v1.PodManager, now time.Time) {
	if hasSameIntent(synced, written) {
		tracker.Wrote(key, source.ManagersResource, written.ResourceVersion, now)
	} else {
		tracker.Saw(key, source.ManagersResource, written.ResourceVersion, now)
	}
}
