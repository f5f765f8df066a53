package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/queue"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// addHandlers registers the filters and handlers of the informers. They keep away what cannot matter; what this
// process itself has written is told apart by the agenda. That of PodManagers comes last: it is what brings the first
// syncs, and nothing that happens to their pods from then on must be missed.
func (c *Controller) addHandlers(scope source.Scope) error {
	_, err := scope.Revisions.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, obj any) { c.revisionChanged(obj.(*appsv1.ControllerRevision)) },
		DeleteFunc: c.revisionDeleted,
	})
	if err != nil {
		return fmt.Errorf("adding the revision handler: %w", err)
	}
	_, err = scope.Pods.Informer().AddEventHandler(cache.FilteringResourceEventHandler{
		FilterFunc: source.IsManaged,
		Handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(obj any, isInInitialList bool) {
				if !isInInitialList { // what is there at the start comes with its PodManager
					c.podAdded(obj)
				}
			},
			UpdateFunc: c.podUpdated,
			DeleteFunc: c.podDeleted,
		},
	})
	if err != nil {
		return fmt.Errorf("adding the pod handler: %w", err)
	}
	_, err = scope.PodManagers.Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    c.managerAdded,
		UpdateFunc: c.managerUpdated,
		DeleteFunc: c.managerDeleted,
	})
	if err != nil {
		return fmt.Errorf("adding the PodManager handler: %w", err)
	}
	return nil
}

func (c *Controller) managerAdded(obj any, isInInitialList bool) {
	manager := obj.(*v1.PodManager)
	t := queue.TriggerManagerAdded
	if isInInitialList {
		t = c.triggerOfStart(manager)
	}
	c.agenda.Add(cache.MetaObjectToName(manager), t, 0)
}

// triggerOfStart lets those PodManagers go first at a start whose pods are not as they should be.
func (c *Controller) triggerOfStart(manager *v1.PodManager) queue.Trigger {
	pods, err := c.Scopes.Of(manager.Namespace).PodsOf(manager)
	if err != nil || status.IsUnfinished(manager, pods.Own) {
		return queue.TriggerUnfinished
	}
	return queue.TriggerStart
}

func (c *Controller) managerUpdated(oldObj, obj any) {
	old, manager := oldObj.(*v1.PodManager), obj.(*v1.PodManager)
	key := cache.MetaObjectToName(manager)
	switch {
	case old.ResourceVersion == manager.ResourceVersion:
		// Nothing has changed, but somebody has asked for this with -resync.
		c.agenda.Add(key, queue.TriggerResync, 0)
	case old.UID != manager.UID:
		c.agenda.Add(key, queue.TriggerManagerAdded, 0)
	case old.Generation != manager.Generation || !old.DeletionTimestamp.Equal(manager.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(old.Annotations, manager.Annotations) || !equality.Semantic.DeepEqual(old.Labels, manager.Labels):
		// We never write these: a user has, and may be waiting.
		c.agenda.Add(key, queue.TriggerManagerChanged, 0)
	default:
		c.agenda.AddUnlessEcho(key, queue.Write{Trigger: queue.TriggerStatusChanged, Resource: source.ManagersResource, Version: manager.ResourceVersion}, 0)
	}
}

func (c *Controller) managerDeleted(obj any) {
	key, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		utilruntime.HandleError(fmt.Errorf("cannot tell which PodManager was deleted: %w", err))
		return
	}
	c.agenda.Add(key, queue.TriggerManagerDeleted, 0)
}

func (c *Controller) podAdded(obj any) {
	pod := obj.(*corev1.Pod)
	if owner, orphan := source.OrphanOf(pod); orphan {
		c.agenda.Add(owner, queue.TriggerPodOrphaned, 0)
		return
	}
	if owner := c.managerOf(pod); owner != nil {
		c.podEvent(owner, queue.Write{Trigger: queue.TriggerPodAdded, Resource: source.PodsResource, Version: pod.ResourceVersion})
	}
}

// podEvent queues the PodManager of a pod, together with events of its other pods if there are many.
func (c *Controller) podEvent(owner *v1.PodManager, w queue.Write) {
	c.agenda.AddUnlessEcho(cache.MetaObjectToName(owner), w, requeue.GatherEvents(owner))
}

func (c *Controller) podUpdated(oldObj, obj any) {
	old, pod := oldObj.(*corev1.Pod), obj.(*corev1.Pod)
	if old.ResourceVersion == pod.ResourceVersion {
		return // a resync: that of the PodManagers serves
	}
	owner := c.managerOf(pod)
	if before := c.managerOf(old); before != nil && (owner == nil || before.UID != owner.UID) {
		c.agenda.Add(cache.MetaObjectToName(before), queue.TriggerPodChanged, requeue.GatherEvents(before))
	}
	if took, became := podstate.BecameReady(old, pod); owner != nil && became {
		metrics.PodReadySeconds.Observe(took.Seconds())
	}
	switch {
	case owner == nil:
		c.podAdded(pod)
	case matters(old, pod):
		c.podEvent(owner, queue.Write{Trigger: queue.TriggerPodChanged, Resource: source.PodsResource, Version: pod.ResourceVersion})
	}
}

// podDeleted is told of pods that are gone, and of those that somebody has relabelled away. One that was not seen to end may be
// either: the next sync looks.
func (c *Controller) podDeleted(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	pod := obj.(*corev1.Pod)
	owner := c.managerOf(pod)
	if owner == nil {
		return
	}
	key := cache.MetaObjectToName(owner)
	if pod.DeletionTimestamp == nil {
		c.Tracker.Unknown(key, pod.Name)
	}
	// Never an echo: even if we asked for it, that the pod is gone is news.
	c.agenda.Add(key, queue.TriggerPodDeleted, requeue.GatherEvents(owner))
}

func (c *Controller) revisionChanged(revision *appsv1.ControllerRevision) {
	if owner := c.managerOf(revision); owner != nil {
		c.agenda.AddUnlessEcho(cache.MetaObjectToName(owner), queue.Write{Trigger: queue.TriggerRevision, Resource: source.RevisionsResource, Version: revision.ResourceVersion}, 0)
	}
}

// revisionDeleted brings back a revision that is in use.
func (c *Controller) revisionDeleted(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if owner := c.managerOf(obj.(*appsv1.ControllerRevision)); owner != nil {
		c.agenda.Add(cache.MetaObjectToName(owner), queue.TriggerRevision, 0)
	}
}

// managerOf is the PodManager that controls a pod or revision: the one in the cache that has the name and the UID. That of
// a dead namesake is nobody's: nil.
func (c *Controller) managerOf(object metav1.Object) *v1.PodManager {
	ref := source.ControllerOf(object)
	if ref == nil {
		return nil
	}
	namespace := object.GetNamespace()
	manager, err := c.Scopes.Of(namespace).PodManagers.Lister().PodManagers(namespace).Get(ref.Name)
	if err != nil || manager.UID != ref.UID {
		return nil
	}
	return manager
}

// matters tells whether a change of a pod can change the plan or the status. Kubelets write heartbeats and probes'
// details that cannot.
func matters(old, pod *corev1.Pod) bool {
	return !equality.Semantic.DeepEqual(old.Labels, pod.Labels) ||
		!equality.Semantic.DeepEqual(old.OwnerReferences, pod.OwnerReferences) ||
		!equality.Semantic.DeepEqual(old.Annotations, pod.Annotations) ||
		!old.DeletionTimestamp.Equal(pod.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(old.Status, pod.Status)
}

// takeUp gives the events of a scope to the workers from the time on at which its caches are filled: no sync may rest on
// half of them. What is in them by then comes as if it had just been added; what is not, although it is ours, is looked for.
func (c *Controller) takeUp(ctx context.Context, scope source.Scope) {
	if !cache.WaitFor(ctx, "", scope.Filled()...) {
		return
	}
	if err := c.addHandlers(scope); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Cannot follow what happens", "namespace", scope.Namespace)
	}
	c.findStrayed(ctx, scope.Namespace)
}
