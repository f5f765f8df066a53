package executor

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// storeRevisions stores the revisions that a plan needs, and tells whether to proceed with the plan.
func (e *Executor) storeRevisions(ctx context.Context, key cache.ObjectName, stores []history.Store, done *Outcome) bool {
	for _, store := range stores {
		if !e.storeRevision(ctx, key, store, done) {
			return false
		}
	}
	return true
}

func (e *Executor) storeRevision(ctx context.Context, key cache.ObjectName, store history.Store, done *Outcome) bool {
	client := e.Kube.AppsV1().ControllerRevisions(key.Namespace)
	e.stamp(store.Revision)
	var stored *appsv1.ControllerRevision
	var err error
	if store.Exists {
		stored, err = client.Update(ctx, store.Revision, metav1.UpdateOptions{FieldManager: v1.ControllerName})
	} else {
		stored, err = client.Create(ctx, store.Revision, metav1.CreateOptions{FieldManager: v1.ControllerName})
	}
	switch {
	case err == nil:
		klog.FromContext(ctx).V(2).Info("Stored revision", "revision", klog.KObj(stored), "number", stored.Revision)
		e.Tracker.Wrote(key, source.RevisionsResource, stored.ResourceVersion, e.Clock.Now())
		e.Memories.Of(key).Accept(storeHold)
		store.Done(stored)
		return true
	case apierrors.IsAlreadyExists(err):
		return e.resolveRevisionName(ctx, key, store, done)
	case isGoneOrChanged(err):
		// Somebody has changed or deleted the revision: the next sync reads live.
		e.abandonPlan(key, done)
	case requeue.NamespaceIsTerminating(err):
		done.Outdated = true
	default:
		e.collect(key, storeHold, []PodResult{{Err: fmt.Errorf("storing revision %s: %w", store.Revision.Name, err)}}, done)
	}
	return false
}

// storeHold is the hold on storing revisions.
var storeHold = requeue.HoldKey{Condition: v1.ReasonFailedStore}

// adoptRevisions adopts orphaned revisions of a deleted PodManager of the same name. It returns true if there are none: after an adoption
// the plan is outdated.
func (e *Executor) adoptRevisions(ctx context.Context, key cache.ObjectName, revisions []*appsv1.ControllerRevision, done *Outcome) bool {
	for _, revision := range revisions {
		wanted := revision.DeepCopy()
		wanted.OwnerReferences = append(wanted.OwnerReferences, *metav1.NewControllerRef(done.Manager, v1.GroupVersionKind))
		e.stamp(wanted)
		adopted, err := e.Kube.AppsV1().ControllerRevisions(key.Namespace).Update(ctx, wanted, metav1.UpdateOptions{FieldManager: v1.ControllerName})
		switch {
		case isGoneOrChanged(err) || apierrors.IsInvalid(err):
			e.abandonPlan(key, done)
			return false
		case err != nil:
			e.collect(key, storeHold, []PodResult{{Err: fmt.Errorf("adopting revision %s: %w", revision.Name, err)}}, done)
			return false
		}
		klog.FromContext(ctx).V(2).Info("Adopted revision", "revision", klog.KObj(adopted))
		e.Tracker.Wrote(key, source.RevisionsResource, adopted.ResourceVersion, e.Clock.Now())
	}
	if len(revisions) > 0 {
		// The plan has the revisions with their old resourceVersions.
		done.Outdated = true
		done.LookAgain(requeue.After(e.Clock.Now(), StaleRetry, requeue.AgainCache))
		return false
	}
	return true
}

// resolveRevisionName reads live a revision that the cache did not show and that has the name of the revision to store. If both are the
// same, the answer to an earlier create was lost. Otherwise the hash collides: collisionCount goes up, and the next sync takes another
// name.
func (e *Executor) resolveRevisionName(ctx context.Context, key cache.ObjectName, store history.Store, done *Outcome) bool {
	stored, err := e.Kube.AppsV1().ControllerRevisions(key.Namespace).Get(ctx, store.Revision.Name, metav1.GetOptions{})
	if err != nil {
		done.addError(fmt.Errorf("looking whose revision %s is: %w", store.Revision.Name, err))
		return false
	}
	owner := source.ControllerOf(stored)
	switch same := history.HaveSameTemplate(stored, store.Revision); {
	case same && metav1.IsControlledBy(stored, done.Manager):
		e.Tracker.Saw(key, source.RevisionsResource, stored.ResourceVersion, e.Clock.Now())
		store.Done(stored)
		return true
	case metav1.GetControllerOfNoCopy(stored) == nil && stored.Labels[v1.LabelManager] == key.Name:
		return e.adoptRevisions(ctx, key, []*appsv1.ControllerRevision{stored}, done)
	case owner != nil && owner.Name == key.Name && owner.UID != done.Manager.UID:
		e.dropOfPredecessor(ctx, key, stored, done)
		return false
	}
	klog.FromContext(ctx).V(2).Info("The revision's name is in use for something else", "revision", klog.KObj(stored))
	done.Outdated, done.Collided = true, stored.Name
	return false
}

// dropOfPredecessor deletes a revision of a deleted PodManager of the same name. The garbage collector would do so, but it may be away, and
// this PodManager would have no pods until it is back.
func (e *Executor) dropOfPredecessor(ctx context.Context, key cache.ObjectName, revision *appsv1.ControllerRevision, done *Outcome) {
	live, err := e.Scopes.Live(ctx, e.PodManagers, key)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		done.addError(fmt.Errorf("looking whose revision %s is: %w", revision.Name, err))
		return
	case err != nil || live.UID != done.Manager.UID:
		e.abandonPlan(key, done) // the revision is not that of a predecessor, but of a successor
		return
	}
	if err := e.deleteRevision(ctx, revision); err != nil {
		e.collect(key, storeHold, []PodResult{{Err: fmt.Errorf("deleting revision %s of a deleted PodManager: %w", revision.Name, err)}}, done)
		return
	}
	klog.FromContext(ctx).V(2).Info("Deleted revision of a deleted PodManager of the same name", "revision", klog.KObj(revision))
	done.Outdated = true
	done.LookAgain(requeue.After(e.Clock.Now(), StaleRetry, requeue.AgainRevisionName))
}

// dropRevisions deletes revisions that are no longer needed. A later sync stores a revision again if it is needed after all.
func (e *Executor) dropRevisions(ctx context.Context, revisions []*appsv1.ControllerRevision, done *Outcome) {
	for _, revision := range revisions {
		if err := e.deleteRevision(ctx, revision); err != nil {
			done.addError(fmt.Errorf("deleting revision %s: %w", revision.Name, err))
			return
		}
		klog.FromContext(ctx).V(2).Info("Deleted revision beyond the history limit", "revision", klog.KObj(revision))
	}
}

// deleteRevision deletes a revision as it was seen. One that is gone, or that somebody has changed, is no failure: the next sync sees it.
func (e *Executor) deleteRevision(ctx context.Context, revision *appsv1.ControllerRevision) error {
	err := e.Kube.AppsV1().ControllerRevisions(revision.Namespace).Delete(ctx, revision.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &revision.UID, ResourceVersion: &revision.ResourceVersion},
	})
	if isGoneOrChanged(err) {
		return nil
	}
	return err
}

// markRevision marks the revision of a rollout that has failed, or removes the mark. Somebody may have changed the revision: the next sync
// sees it.
func (e *Executor) markRevision(ctx context.Context, key cache.ObjectName, revision *appsv1.ControllerRevision, done *Outcome) {
	if revision == nil {
		return
	}
	marked, err := e.Kube.AppsV1().ControllerRevisions(key.Namespace).Update(ctx, revision, metav1.UpdateOptions{FieldManager: v1.ControllerName})
	switch {
	case err == nil:
		klog.FromContext(ctx).V(2).Info("Marked revision", "revision", klog.KObj(marked), "failed", marked.Annotations[v1.AnnotationFailed] != "")
		e.Tracker.Wrote(key, source.RevisionsResource, marked.ResourceVersion, e.Clock.Now())
	case !isGoneOrChanged(err):
		done.addError(fmt.Errorf("marking revision %s: %w", revision.Name, err))
	}
}

// RestoreRevision stores the last good revision again if somebody has deleted it: without it no rollback is possible.
func (e *Executor) RestoreRevision(ctx context.Context, key cache.ObjectName, manager *v1.PodManager) error {
	good := e.Memories.Of(key).CurrentRevision
	if good == nil || good.Name != manager.Status.CurrentRevision || !metav1.IsControlledBy(good, manager) {
		return nil
	}
	restored := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: good.Namespace, Name: good.Name, Labels: good.Labels, Annotations: good.Annotations, OwnerReferences: good.OwnerReferences,
		},
		Data: good.Data, Revision: good.Revision,
	}
	stored, err := e.Kube.AppsV1().ControllerRevisions(key.Namespace).Create(ctx, restored, metav1.CreateOptions{FieldManager: v1.ControllerName})
	switch {
	case err == nil:
		klog.FromContext(ctx).V(2).Info("Stored the last good revision again", "revision", klog.KObj(stored))
		e.Tracker.Wrote(key, source.RevisionsResource, stored.ResourceVersion, e.Clock.Now())
		return nil
	case apierrors.IsAlreadyExists(err) || requeue.NamespaceIsTerminating(err):
		return nil
	default:
		return fmt.Errorf("storing revision %s again: %w", good.Name, err)
	}
}
