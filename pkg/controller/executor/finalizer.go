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

// addFinalizer makes sure that the PodManager cannot vanish before its pods have been seen to.
func (e *Executor) addFinalizer(ctx context.Context, key cache.ObjectName, done *Outcome) bool {
	return e.changeFinalizers(ctx, key, done, append(slices.Clone(done.Manager.Finalizers), v1.Finalizer))
}

// removeFinalizer lets a PodManager go.
func (e *Executor) removeFinalizer(ctx context.Context, key cache.ObjectName, done *Outcome) bool {
	isOurs := func(name string) bool { return name == v1.Finalizer }
	return e.changeFinalizers(ctx, key, done, slices.DeleteFunc(slices.Clone(done.Manager.Finalizers), isOurs))
}

// changeFinalizers writes the finalizers of exactly this PodManager, if they are still what the plan was made for, and tells
// whether the plan can go on. The list is compared rather than the resourceVersion, which somebody who writes often enough could
// keep from ever being right. The answer shows whether the plan is still for what is wanted.
func (e *Executor) changeFinalizers(ctx context.Context, key cache.ObjectName, done *Outcome, finalizers []string) bool {
	planned := done.Manager
	var before any // nothing is there, or null, if there are none
	if len(planned.Finalizers) > 0 {
		before = planned.Finalizers
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": planned.UID},
		{"op": "test", "path": "/metadata/finalizers", "value": before},
		{"op": "add", "path": "/metadata/finalizers", "value": finalizers},
	})
	if err != nil {
		done.fails(err)
		return false
	}
	live, err := e.PodManagers.AppsV1().PodManagers(key.Namespace).Patch(ctx, key.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: v1.ControllerName, FieldValidation: metav1.FieldValidationIgnore})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err), apierrors.IsConflict(err):
		// It is gone, has other finalizers, or is being deleted, so that none can be added.
		klog.FromContext(ctx).V(2).Info("PodManager is not as the cache shows it", "err", err)
		e.giveUp(key, done)
		return false
	case err != nil:
		// Told even if it is refused for good, and tried again all the same: without the finalizer nothing goes on.
		err = fmt.Errorf("changing the finalizers: %w", err)
		done.fail(requeue.Failed(v1.ReasonFailedFinal, err), nil)
		done.fails(err)
		return false
	}
	klog.FromContext(ctx).V(2).Info("Changed the finalizers", "finalizers", finalizers)
	WroteManager(e.Tracker, key, planned, live, e.Clock.Now())
	done.Manager = live
	if !isSameWish(planned, live) {
		e.giveUp(key, done)
		return false
	}
	return true
}

// isSameWish tells whether two versions of a PodManager ask for the same.
func isSameWish(a, b *v1.PodManager) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec) && a.DeletionTimestamp.Equal(b.DeletionTimestamp)
}

// WroteManager makes the next sync wait until the cache shows what was written. Its event is an echo only if nobody
// else's change is in it: what was written onto a spec that no sync has seen yet must still be looked at.
func WroteManager(tracker *consistency.Tracker, key cache.ObjectName, synced, written *v1.PodManager, now time.Time) {
	if isSameWish(synced, written) {
		tracker.Wrote(key, source.ManagersResource, written.ResourceVersion, now)
	} else {
		tracker.Saw(key, source.ManagersResource, written.ResourceVersion, now)
	}
}
