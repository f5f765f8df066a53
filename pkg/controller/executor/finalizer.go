package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// addFinalizer keeps the PodManager from disappearing before the controller has deleted its pods, or opened their readiness gates.
func (e *Executor) addFinalizer(ctx context.Context, key cache.ObjectName, done *reconcile.Outcome) bool {
	return e.changeFinalizers(ctx, key, done, append(slices.Clone(done.Manager.Finalizers), v1.Finalizer))
}

// removeFinalizer lets the API server complete the deletion of a PodManager.
func (e *Executor) removeFinalizer(ctx context.Context, key cache.ObjectName, done *reconcile.Outcome) bool {
	isOurs := func(name string) bool { return name == v1.Finalizer }
	return e.changeFinalizers(ctx, key, done, slices.DeleteFunc(slices.Clone(done.Manager.Finalizers), isOurs))
}

// changeFinalizers writes the finalizers of the PodManager with this UID, if its finalizers are still the observed ones. It reports whether the write
// succeeded and the response shows the spec that the plan was made for. The precondition is the list of finalizers. A resourceVersion as the
// precondition could fail each time if other clients write frequently.
func (e *Executor) changeFinalizers(ctx context.Context, key cache.ObjectName, done *reconcile.Outcome, finalizers []string) bool {
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
		done.AddError(err)
		return false
	}
	live, err := e.PodManagers.PodManagers(key.Namespace).Patch(ctx, key.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: v1.ControllerName, FieldValidation: metav1.FieldValidationIgnore})
	if err != nil {
		// The PodManager may be gone, have other finalizers, or be terminating, in which case no finalizer can be added.
		err = changed("finalizers", fmt.Errorf("changing the finalizers: %w", err))
		e.collect(key, requeue.BackoffFinalizer, []PodResult{{Err: err}}, done)
		return false
	}
	e.States.Of(key).Accept(requeue.BackoffFinalizer)
	klog.FromContext(ctx).V(2).Info("Changed the finalizers", "finalizers", finalizers)
	e.States.Of(key).Saw(source.ManagersResource, live.ResourceVersion, e.Clock.Now())
	done.Manager = live
	if !hasSameIntent(planned, live) {
		e.abandonPlan(key, done, reconcile.Changed("", errors.New("the PodManager has changed meanwhile")))
		return false
	}
	return true
}

// hasSameIntent reports whether two versions of a PodManager have the same spec and the same deletionTimestamp.
func hasSameIntent(a, b *v1.PodManager) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec) && a.DeletionTimestamp.Equal(b.DeletionTimestamp)
}
