package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// storeRevisions creates the revisions that a plan needs, and updates those that exist. It reports whether to proceed with the plan: a create that
// fails ends the plan, and a refused update does not.
func (e *Executor) storeRevisions(ctx context.Context, key cache.ObjectName, stores []history.Store, done *reconcile.Outcome) bool {
	var updates []error
	for _, store := range stores {
		switch {
		case store.Exists:
			updates = append(updates, e.renewRevision(ctx, key, store))
		case !e.createRevision(ctx, key, store, done):
			return false
		}
	}
	e.conclude(key, requeue.BackoffRenew, done, updates...)
	return !done.Outdated
}

// renewRevision updates a revision that exists.
func (e *Executor) renewRevision(ctx context.Context, key cache.ObjectName, store history.Store) error {
	stored, err := e.writeRevision(ctx, key, store.Revision, true)
	if err != nil {
		return changedUnlessInvalid(store.Revision.Name, fmt.Errorf("updating revision %s: %w", store.Revision.Name, err))
	}
	klog.FromContext(ctx).V(2).Info("Updated revision", "revision", klog.KObj(stored), "number", stored.Revision)
	store.Done(stored)
	return nil
}

// createRevision creates a revision, and reports whether it is stored. If the API server refuses it, the next sync does at once what does not depend
// on it.
func (e *Executor) createRevision(ctx context.Context, key cache.ObjectName, store history.Store, done *reconcile.Outcome) bool {
	stored, err := e.writeRevision(ctx, key, store.Revision, false)
	switch {
	case err == nil:
		klog.FromContext(ctx).V(2).Info("Stored revision", "revision", klog.KObj(stored), "number", stored.Revision)
		e.States.Of(key).Accept(requeue.BackoffStore)
		store.Done(stored)
		return true
	case apierrors.IsAlreadyExists(err):
		return e.resolveRevisionName(ctx, key, store, done)
	case requeue.NamespaceIsTerminating(err):
		done.Outdated = true
		e.startBackoff(key, requeue.BackoffStore, requeue.Failure{}, done)
	default:
		e.failed(key, requeue.BackoffStore, changedUnlessInvalid(store.Revision.Name, fmt.Errorf("storing revision %s: %w", store.Revision.Name, err)), done)
		done.Requeue(requeue.Requeue{At: e.Clock.Now(), Why: requeue.RequeueMore})
	}
	return false
}

// writeRevision creates a revision, or updates it if it exists. The next sync waits until the shard's cache shows it.
func (e *Executor) writeRevision(ctx context.Context, key cache.ObjectName, revision *appsv1.ControllerRevision, exists bool) (written *appsv1.ControllerRevision, err error) {
	e.stamp(&revision.ObjectMeta)
	client := e.Kube.AppsV1().ControllerRevisions(key.Namespace)
	if exists {
		written, err = client.Update(ctx, revision, metav1.UpdateOptions{FieldManager: v1.ControllerName})
	} else {
		written, err = client.Create(ctx, revision, metav1.CreateOptions{FieldManager: v1.ControllerName})
	}
	if err == nil {
		e.States.Of(key).Saw(source.RevisionsResource, written.ResourceVersion, e.Clock.Now())
	}
	return written, err
}

// adoptRevisions adopts orphaned revisions of a deleted PodManager with the same name. It reports whether to proceed with the plan: an adoption makes
// the plan outdated, and a refused one does not.
func (e *Executor) adoptRevisions(ctx context.Context, key cache.ObjectName, revisions []*appsv1.ControllerRevision, done *reconcile.Outcome) bool {
	var adoptions []error
	for _, revision := range revisions {
		wanted := revision.DeepCopy()
		wanted.OwnerReferences = append(wanted.OwnerReferences, *metav1.NewControllerRef(done.Manager, v1.GroupVersionKind))
		adopted, err := e.writeRevision(ctx, key, wanted, true)
		if err != nil {
			adoptions = append(adoptions, changed(revision.Name, fmt.Errorf("adopting revision %s: %w", revision.Name, err)))
			continue
		}
		adoptions = append(adoptions, nil)
		klog.FromContext(ctx).V(2).Info("Adopted revision", "revision", klog.KObj(adopted))
		// The plan has this revision with its old resourceVersion.
		done.Outdated = true
		done.Requeue(requeue.After(e.Clock.Now(), reconcile.StaleRetry, requeue.RequeueCache))
	}
	e.conclude(key, requeue.BackoffInherit, done, adoptions...)
	return !done.Outdated
}

// resolveRevisionName does a live read of the revision that already has the name of the revision to store, and that the cache did not show.
// If it is ours and has the same template, the response to an earlier create was lost, or another client has changed the labels by which the cache
// selects; then they are restored. If it is an orphan, it is adopted. If it belongs to a predecessor, it is deleted. Otherwise the hash collides:
// collisionCount is incremented, and the next sync takes another name.
func (e *Executor) resolveRevisionName(ctx context.Context, key cache.ObjectName, store history.Store, done *reconcile.Outcome) bool {
	stored, err := e.Kube.AppsV1().ControllerRevisions(key.Namespace).Get(ctx, store.Revision.Name, metav1.GetOptions{})
	if err != nil {
		done.AddError(fmt.Errorf("checking who controls revision %s: %w", store.Revision.Name, err))
		return false
	}
	owner := source.ControllerOf(stored)
	switch same := history.HaveSameTemplate(stored, store.Revision); {
	case same && metav1.IsControlledBy(stored, done.Manager):
		return e.relabelRevision(ctx, key, store, stored, done)
	case metav1.GetControllerOfNoCopy(stored) == nil && stored.Labels[v1.LabelManager] == key.Name:
		e.adoptRevisions(ctx, key, []*appsv1.ControllerRevision{stored}, done)
		return false
	case owner != nil && owner.Name == key.Name && owner.UID != done.Manager.UID:
		e.deletePredecessorRevision(ctx, key, stored, done)
		return false
	}
	klog.FromContext(ctx).V(2).Info("The name is in use by another revision", "revision", klog.KObj(stored))
	done.Outdated, done.Collided = true, stored.Name
	return false
}

// relabelRevision gives a stored revision the labels of the revision to store, unless it has them: otherwise no cache would ever show it. It reports
// whether the revision is stored and has these labels.
func (e *Executor) relabelRevision(ctx context.Context, key cache.ObjectName, store history.Store, stored *appsv1.ControllerRevision, done *reconcile.Outcome) bool {
	labelled := stored.DeepCopy()
	for label, value := range store.Revision.Labels { // with the label of the shard
		metav1.SetMetaDataLabel(&labelled.ObjectMeta, label, value)
	}
	if maps.Equal(labelled.Labels, stored.Labels) {
		e.States.Of(key).Saw(source.RevisionsResource, stored.ResourceVersion, e.Clock.Now())
		store.Done(stored)
		return true
	}
	written, err := e.writeRevision(ctx, key, labelled, true)
	if err != nil {
		e.failed(key, requeue.BackoffStore, changedUnlessInvalid(stored.Name, fmt.Errorf("restoring the labels of revision %s: %w", stored.Name, err)), done)
		done.Requeue(requeue.Requeue{At: e.Clock.Now(), Why: requeue.RequeueMore})
		return false
	}
	klog.FromContext(ctx).V(2).Info("Restored the labels of a revision", "revision", klog.KObj(written))
	e.States.Of(key).Accept(requeue.BackoffStore)
	store.Done(written)
	return true
}

// deletePredecessorRevision deletes a revision of a deleted PodManager with the same name. The garbage collector would delete it, too, but if the
// garbage collector is down, this PodManager would have no pods until it is back.
func (e *Executor) deletePredecessorRevision(ctx context.Context, key cache.ObjectName, revision *appsv1.ControllerRevision, done *reconcile.Outcome) {
	live, err := e.Scopes.Live(ctx, e.PodManagers, key)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		done.AddError(fmt.Errorf("checking whether the owner of revision %s is gone: %w", revision.Name, err))
		return
	case err != nil || live.UID != done.Manager.UID: // the revision may belong to a successor, not to a predecessor
		e.abandonPlan(key, done, reconcile.Changed("", errors.New("the PodManager is gone, or another one has its name now")))
		return
	}
	if err := e.deleteRevision(ctx, revision); err != nil {
		e.failed(key, requeue.BackoffStore, err, done)
		return
	}
	klog.FromContext(ctx).V(2).Info("Deleted revision of a deleted PodManager of the same name", "revision", klog.KObj(revision))
	done.Outdated = true
	done.Requeue(requeue.After(e.Clock.Now(), reconcile.StaleRetry, requeue.RequeueRevisionName))
}

// dropRevisions deletes revisions that are no longer needed. If one is needed after all, a later sync stores it again.
func (e *Executor) dropRevisions(ctx context.Context, key cache.ObjectName, revisions []*appsv1.ControllerRevision, done *reconcile.Outcome) {
	for _, revision := range revisions {
		if err := e.deleteRevision(ctx, revision); err != nil {
			e.failed(key, requeue.BackoffDrop, err, done)
			return
		}
		klog.FromContext(ctx).V(2).Info("Deleted revision that is no longer needed", "revision", klog.KObj(revision))
	}
}

// deleteRevision deletes a revision if it has not changed since it was read.
func (e *Executor) deleteRevision(ctx context.Context, revision *appsv1.ControllerRevision) error {
	err := e.Kube.AppsV1().ControllerRevisions(revision.Namespace).Delete(ctx, revision.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &revision.UID, ResourceVersion: &revision.ResourceVersion},
	})
	if err != nil {
		return changedUnlessInvalid(revision.Name, fmt.Errorf("deleting revision %s: %w", revision.Name, err))
	}
	return nil
}

// conclude adds the results of updates of revisions to the outcome. A backoff begins once for all of them, and ends if all succeed.
func (e *Executor) conclude(key cache.ObjectName, kind requeue.BackoffKey, done *reconcile.Outcome, updates ...error) {
	var failed []PodResult
	for _, err := range updates {
		if err != nil {
			failed = append(failed, PodResult{Err: err})
		}
	}
	if e.collect(key, kind, failed, done); len(updates) > 0 && len(failed) == 0 {
		e.States.Of(key).Accept(kind)
	}
}

// failed adds a failed request for a revision to the outcome.
func (e *Executor) failed(key cache.ObjectName, kind requeue.BackoffKey, err error, done *reconcile.Outcome) {
	e.collect(key, kind, []PodResult{{Err: err}}, done)
}

// markRevisions records on revisions whether they are good or have failed.
func (e *Executor) markRevisions(ctx context.Context, key cache.ObjectName, revisions []*appsv1.ControllerRevision, done *reconcile.Outcome) {
	for _, revision := range revisions {
		marked, err := e.writeRevision(ctx, key, revision, true)
		if err != nil {
			err = fmt.Errorf("recording on revision %s whether it is good or has failed: %w", revision.Name, err)
			e.failed(key, requeue.BackoffMark, changedUnlessInvalid(revision.Name, err), done)
			return
		}
		klog.FromContext(ctx).V(2).Info("Marked revision", "revision", klog.KObj(marked), "failed", marked.Annotations[v1.AnnotationFailed] != "",
			"goodSince", marked.Annotations[v1.AnnotationGood])
	}
}
