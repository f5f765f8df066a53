package controller

import (
	"context"
	"fmt"
	"time"

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

// addHandlers adds the event handlers to the informers. They drop events that cannot change the plan; the agenda drops echoes of own
// writes. The PodManager handler comes last: it enqueues the first keys, and no pod event may be missed from then on.
func (c *Controller) addHandlers(scope source.Scope) error {
	if err := c.addObjectHandlers(scope); err != nil {
		return err
	}
	if strays, found := scope.Strays(); found {
		if err := c.addObjectHandlers(strays); err != nil {
			return err
		}
	}
	return c.addHandler(scope.PodManagers.Informer(), "PodManager", cache.FilteringResourceEventHandler{
		FilterFunc: c.isOurs,
		Handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    c.managerAdded,
			UpdateFunc: c.managerUpdated,
			DeleteFunc: c.managerDeleted,
		},
	})
}

// addObjectHandlers adds the event handlers of pods and revisions.
func (c *Controller) addObjectHandlers(scope source.Scope) error {
	err := c.addHandler(scope.Revisions.Informer(), "revision", cache.FilteringResourceEventHandler{
		FilterFunc: c.isOurs,
		Handler: cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(_, obj any) { c.revisionChanged(obj.(*appsv1.ControllerRevision)) },
			DeleteFunc: c.revisionDeleted,
		},
	})
	if err != nil {
		return err
	}
	return c.addHandler(scope.Pods.Informer(), "pod", cache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool { return source.IsManaged(obj) && c.isOurs(obj) },
		Handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(obj any, isInInitialList bool) {
				if !isInInitialList { // the PodManager's own initial event enqueues the key
					c.podAdded(obj)
				}
			},
			UpdateFunc: c.podUpdated,
			DeleteFunc: c.podDeleted,
		},
	})
}

// addHandler adds a handler, and removes it when the controller stops: with shards, the informer may go on for other controllers.
func (c *Controller) addHandler(informer cache.SharedIndexInformer, name string, handler cache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("adding the %s handler: %w", name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeHandlers = append(c.removeHandlers, func() { _ = informer.RemoveEventHandler(registration) })
	return nil
}

// isOurs tells whether a PodManager, or the PodManager that a pod or revision belongs to, is in the shard of this controller.
func (c *Controller) isOurs(obj any) bool {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if manager, ok := obj.(*v1.PodManager); ok {
		return c.shard.Has(cache.MetaObjectToName(manager))
	}
	object, ok := obj.(metav1.Object)
	if !ok {
		return false
	}
	key, found := source.ManagerKey(object)
	return !found || c.shard.Has(key)
}

func (c *Controller) managerAdded(obj any, isInInitialList bool) {
	manager := obj.(*v1.PodManager)
	t, delay := queue.TriggerManagerAdded, time.Duration(0)
	if isInInitialList {
		t, delay = c.initialTrigger(manager)
	}
	c.agenda.Add(cache.MetaObjectToName(manager), t, delay)
}

// backlogDelay is how long PodManagers that need nothing, as it seems, wait when the controller starts: workers that are busy with them
// would keep those that need something from being found.
const backlogDelay = 200 * time.Millisecond

// initialTrigger makes PodManagers whose pods are not as desired come first when the controller starts.
func (c *Controller) initialTrigger(manager *v1.PodManager) (t queue.Trigger, delay time.Duration) {
	pods, err := c.Scopes.Of(manager.Namespace).PodsOf(manager)
	if err != nil || status.IsUnfinished(manager, pods.Own) {
		return queue.TriggerUnfinished, 0
	}
	return queue.TriggerStart, backlogDelay
}

func (c *Controller) managerUpdated(oldObj, obj any) {
	old, manager := oldObj.(*v1.PodManager), obj.(*v1.PodManager)
	key := cache.MetaObjectToName(manager)
	switch {
	case old.ResourceVersion == manager.ResourceVersion:
		// A resync, which somebody has turned on with -resync.
		c.agenda.Add(key, queue.TriggerResync, 0)
	case old.UID != manager.UID:
		c.agenda.Add(key, queue.TriggerManagerAdded, 0)
	case old.Generation != manager.Generation || !old.DeletionTimestamp.Equal(manager.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(old.Annotations, manager.Annotations) || !equality.Semantic.DeepEqual(old.Labels, manager.Labels):
		// The controller never writes these: a user has, and may be waiting.
		c.agenda.Add(key, queue.TriggerManagerChanged, 0)
	default:
		c.agenda.AddUnlessEcho(key, queue.ObservedWrite{Trigger: queue.TriggerStatusChanged, Resource: source.ManagersResource, Version: manager.ResourceVersion}, 0)
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
		c.enqueueForPod(owner, queue.ObservedWrite{Trigger: queue.TriggerPodAdded, Resource: source.PodsResource, Version: pod.ResourceVersion})
	}
}

// enqueueForPod enqueues the key of a pod's PodManager. A PodManager with many pods is enqueued later, so that one sync serves many pod
// events.
func (c *Controller) enqueueForPod(owner *v1.PodManager, w queue.ObservedWrite) {
	c.agenda.AddUnlessEcho(cache.MetaObjectToName(owner), w, requeue.BatchPeriod(owner))
}

func (c *Controller) podUpdated(oldObj, obj any) {
	old, pod := oldObj.(*corev1.Pod), obj.(*corev1.Pod)
	if old.ResourceVersion == pod.ResourceVersion {
		return // a resync: the resync of the PodManagers is enough
	}
	owner := c.managerOf(pod)
	if before := c.managerOf(old); before != nil && (owner == nil || before.UID != owner.UID) {
		c.agenda.Add(cache.MetaObjectToName(before), queue.TriggerPodChanged, requeue.BatchPeriod(before))
	}
	if took, became := podstate.BecameReady(old, pod); owner != nil && became {
		metrics.PodReadySeconds.Observe(took.Seconds())
	}
	switch {
	case owner == nil:
		c.podAdded(pod)
	case isRelevant(old, pod):
		c.enqueueForPod(owner, queue.ObservedWrite{Trigger: queue.TriggerPodChanged, Resource: source.PodsResource, Version: pod.ResourceVersion})
	}
}

// podDeleted handles pods that have left the cache: they are gone, or somebody has removed our label. A pod without a deletionTimestamp
// may be either: the next sync reads it live.
func (c *Controller) podDeleted(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	pod := obj.(*corev1.Pod)
	owner := c.managerOf(pod)
	if owner == nil {
		return
	}
	key := cache.MetaObjectToName(owner)
	if pod.DeletionTimestamp == nil {
		c.Tracker.MarkUnsettled(key, pod.Name)
	}
	// Never an echo: even if the controller has deleted the pod, the plan has to know when the pod is gone.
	c.agenda.Add(key, queue.TriggerPodDeleted, requeue.BatchPeriod(owner))
}

func (c *Controller) revisionChanged(revision *appsv1.ControllerRevision) {
	if owner := c.managerOf(revision); owner != nil {
		c.agenda.AddUnlessEcho(cache.MetaObjectToName(owner), queue.ObservedWrite{Trigger: queue.TriggerRevision, Resource: source.RevisionsResource, Version: revision.ResourceVersion}, 0)
	}
}

// revisionDeleted enqueues the PodManager, whose sync stores a revision again that is in use.
func (c *Controller) revisionDeleted(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if owner := c.managerOf(obj.(*appsv1.ControllerRevision)); owner != nil {
		c.agenda.Add(cache.MetaObjectToName(owner), queue.TriggerRevision, 0)
	}
}

// managerOf is the PodManager that controls a pod or revision: the one in the cache with the name and the UID of the controllerRef. It is
// nil for an object of a deleted PodManager of the same name.
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

// isRelevant tells whether an update of a pod can change the plan or the status. Many updates by kubelets cannot: source.Trim keeps only what
// pkg/plan reads.
func isRelevant(old, pod *corev1.Pod) bool {
	return !equality.Semantic.DeepEqual(old.Labels, pod.Labels) ||
		!equality.Semantic.DeepEqual(old.OwnerReferences, pod.OwnerReferences) ||
		!equality.Semantic.DeepEqual(old.Annotations, pod.Annotations) ||
		!old.DeletionTimestamp.Equal(pod.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(old.Status, pod.Status)
}

// startHandlers adds the handlers of a scope once all its caches have synced, because no sync may read half-filled caches. The informers
// then send an add event for each cached object. Pods without our label are not in the cache: findRelabelled finds them.
func (c *Controller) startHandlers(ctx context.Context, scope source.Scope) {
	if !cache.WaitFor(ctx, "", scope.SyncedCheckers()...) {
		return
	}
	if err := c.addHandlers(scope); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Cannot follow what happens", "namespace", scope.Namespace)
	}
	c.findRelabelled(ctx, scope)
}
