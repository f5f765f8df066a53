package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
)

// storeRevision stores the revision that pods are to be made from, and tells whether the plan can go on.
func (c *Controller) storeRevision(ctx context.Context, key cache.ObjectName, store *plan.Store, done *outcome) bool {
	client := c.kube.AppsV1().ControllerRevisions(key.Namespace)
	var stored *appsv1.ControllerRevision
	var err error
	if store.Exists {
		stored, err = client.Update(ctx, store.Revision, metav1.UpdateOptions{FieldManager: Name})
	} else {
		stored, err = client.Create(ctx, store.Revision, metav1.CreateOptions{FieldManager: Name})
	}
	switch {
	case err == nil:
		klog.FromContext(ctx).V(2).Info("Stored revision", "revision", klog.KObj(stored), "number", stored.Revision)
		c.tracker.Wrote(key, revisionsResource, stored.ResourceVersion, c.clock.Now())
		return true
	case apierrors.IsAlreadyExists(err):
		return c.settleName(ctx, key, store, done)
	case isGone(err):
		// Somebody has changed or deleted it: the next sync looks anew.
		c.giveUp(key, done)
	case plan.NamespaceIsGoing(err):
		done.outdated = true
	default:
		err = fmt.Errorf("storing revision %s: %w", store.Revision.Name, err)
		done.fail(plan.FailedStore(err), err)
	}
	return false
}

// settleName looks at a revision that the cache did not show and that has the name of the one to be stored. If it is that
// one, an earlier answer was lost, or it was orphaned. If it is not, the hash is counted up, and the next sync takes
// another name.
func (c *Controller) settleName(ctx context.Context, key cache.ObjectName, store *plan.Store, done *outcome) bool {
	stored, err := c.kube.AppsV1().ControllerRevisions(key.Namespace).Get(ctx, store.Revision.Name, metav1.GetOptions{})
	if err != nil {
		done.err = fmt.Errorf("looking whose revision %s is: %w", store.Revision.Name, err)
		return false
	}
	owner := metav1.GetControllerOf(stored)
	switch same := plan.IsSame(stored, store.Revision); {
	case same && metav1.IsControlledBy(stored, done.manager):
		c.tracker.Saw(key, revisionsResource, stored.ResourceVersion, c.clock.Now())
		return true
	case same && owner == nil:
		// It is from a namesake whose pods were orphaned. They are adopted, and so is what they were made from.
		adopted := stored.DeepCopy()
		adopted.OwnerReferences = append(adopted.OwnerReferences, store.Revision.OwnerReferences...)
		adopted.Labels, adopted.Revision = store.Revision.Labels, store.Revision.Revision
		return c.storeRevision(ctx, key, &plan.Store{Revision: adopted, Exists: true}, done)
	}
	klog.FromContext(ctx).V(2).Info("The revision's name is in use for something else", "revision", klog.KObj(stored))
	status := *done.manager.Status.DeepCopy()
	status.CollisionCount++
	done.outdated = true
	done.collided = stored.Name
	if done.err = c.writeStatus(ctx, key, done.manager, status); done.err == nil {
		c.enqueueAfter(key, staleRetry)
	}
	return false
}

// dropRevisions deletes revisions that nobody needs any more. If one of them came to be needed after all, it would be
// stored again.
func (c *Controller) dropRevisions(ctx context.Context, key cache.ObjectName, revisions []*appsv1.ControllerRevision, done *outcome) {
	for _, revision := range revisions {
		err := c.kube.AppsV1().ControllerRevisions(key.Namespace).Delete(ctx, revision.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &revision.UID, ResourceVersion: &revision.ResourceVersion},
		})
		if err != nil && !isGone(err) {
			done.err = fmt.Errorf("deleting revision %s: %w", revision.Name, err)
			return
		}
		klog.FromContext(ctx).V(2).Info("Deleted revision beyond the history limit", "revision", klog.KObj(revision))
	}
}

// bringBack stores the last good revision again if somebody has deleted it: nothing else tells what the pods are to
// return to.
func (c *Controller) bringBack(ctx context.Context, key cache.ObjectName, manager *v1.PodManager) error {
	good := c.memories.of(key).good
	if good == nil || good.Name != manager.Status.CurrentRevision || !metav1.IsControlledBy(good, manager) {
		return nil
	}
	again := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: good.Namespace, Name: good.Name, Labels: good.Labels, Annotations: good.Annotations, OwnerReferences: good.OwnerReferences,
		},
		Data: good.Data, Revision: good.Revision,
	}
	stored, err := c.kube.AppsV1().ControllerRevisions(key.Namespace).Create(ctx, again, metav1.CreateOptions{FieldManager: Name})
	switch {
	case err == nil:
		klog.FromContext(ctx).V(2).Info("Stored the last good revision again", "revision", klog.KObj(stored))
		c.tracker.Wrote(key, revisionsResource, stored.ResourceVersion, c.clock.Now())
		return nil
	case apierrors.IsAlreadyExists(err) || plan.NamespaceIsGoing(err):
		return nil
	default:
		return fmt.Errorf("storing revision %s again: %w", good.Name, err)
	}
}
