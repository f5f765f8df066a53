package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// follow adds the event handlers of a scope once all its caches have synced, because no sync may read half-filled caches. The informers then
// send an add event for each cached object. follow removes the handlers when ctx is done: with sharding, the informers may keep running for
// other controllers. Pods without our label are not in the cache: findRelabelled finds them.
func (c *Controller) follow(ctx context.Context, scope source.Scope) {
	if !cache.WaitFor(ctx, "", scope.SyncedCheckers()...) {
		return
	}
	for _, f := range c.followed(ctx, scope) {
		registration, err := f.informer.AddEventHandler(f.handler)
		if err != nil { // the informer has stopped
			klog.FromContext(ctx).V(2).Info("Cannot add event handlers", "namespace", scope.Namespace, "err", err)
			return
		}
		defer func() { _ = f.informer.RemoveEventHandler(registration) }()
	}
	c.findRelabelled(ctx, scope)
	<-ctx.Done()
}

// followed is an informer with the handler for its events.
type followed struct {
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandler
}

// followed returns the informers of a scope with their handlers, which drop events that cannot change the plan. PodManagers come last: they
// enqueue the first keys, and from then on no pod event may be missed.
func (c *Controller) followed(ctx context.Context, scope source.Scope) (all []followed) {
	pods := cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if !isInInitialList { // the PodManager's own initial event enqueues the key
				c.podAdded(obj.(*corev1.Pod))
			}
		},
		UpdateFunc: func(old, obj any) { c.podUpdated(old.(*corev1.Pod), obj.(*corev1.Pod)) },
		DeleteFunc: func(obj any) { c.podDeleted(lastKnown(obj).(*corev1.Pod)) },
	}
	revisions := cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) { c.revisionChanged(obj) }, DeleteFunc: c.revisionChanged}
	managers := cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: c.managerAdded,
		UpdateFunc: func(old, obj any) {
			c.managerUpdated(old.(*v1.PodManager), obj.(*v1.PodManager))
			c.countRollout(ctx, old.(*v1.PodManager), obj.(*v1.PodManager))
		},
		DeleteFunc: func(obj any) { c.scheduler.Add(cache.MetaObjectToName(lastKnown(obj)), queue.TriggerManagerDeleted, 0) },
	}
	for _, informer := range scope.Revisions {
		all = append(all, followed{informer, revisions})
	}
	for _, informer := range scope.Pods {
		all = append(all, followed{informer, pods})
	}
	return append(all, followed{scope.PodManagers.Informer(), managers})
}

// lastKnown returns a deleted object as it was last seen.
func lastKnown(obj any) metav1.Object {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	return obj.(metav1.Object)
}

func (c *Controller) managerAdded(obj any, isInInitialList bool) {
	manager := obj.(*v1.PodManager)
	t, delay := queue.TriggerManagerAdded, time.Duration(0)
	key := cache.MetaObjectToName(manager)
	if isInInitialList && c.shard.Has(key) {
		t, delay = c.initialTrigger(manager)
	}
	c.scheduler.Add(key, t, delay)
}

// backlogDelay is how long PodManagers that seem to need nothing wait when the controller starts. Otherwise workers that are busy with them
// would delay the discovery of PodManagers that need work.
const backlogDelay = 200 * time.Millisecond

// initialTrigger gives priority to PodManagers whose pods are not as desired when the controller starts.
func (c *Controller) initialTrigger(manager *v1.PodManager) (t queue.Trigger, delay time.Duration) {
	if status.IsUnfinished(manager, c.Scopes.Of(manager.Namespace).PodsOf(manager).Own) {
		return queue.TriggerUnfinished, 0
	}
	return queue.TriggerStart, backlogDelay
}

func (c *Controller) managerUpdated(old, manager *v1.PodManager) {
	key := cache.MetaObjectToName(manager)
	switch {
	case old.ResourceVersion == manager.ResourceVersion:
		// A resync, which is on only if -resync is set.
		c.scheduler.Add(key, queue.TriggerResync, 0)
	case old.UID != manager.UID:
		c.scheduler.Add(key, queue.TriggerManagerAdded, 0)
	case old.Generation != manager.Generation || !old.DeletionTimestamp.Equal(manager.DeletionTimestamp):
		// The controller never writes these: a user has changed them, and may be waiting.
		c.scheduler.Add(key, queue.TriggerManagerChanged, 0)
	case !equality.Semantic.DeepEqual(old.Annotations, manager.Annotations) || !equality.Semantic.DeepEqual(old.Labels, manager.Labels):
		// Other controllers write these, too, some of them all the time: such a change must not end the backoff of a failing sync.
		c.scheduler.Add(key, queue.TriggerMetadata, 0)
	default:
		c.scheduler.Add(key, queue.TriggerStatusChanged, 0)
	}
}

// countRollout counts a rollout if this change of the status ends one. Counting status changes makes sure that each end is counted once, by
// the active controller, even if the response to the status write was lost. It misses an end that is written while no controller is active,
// or just before the controller stops.
func (c *Controller) countRollout(ctx context.Context, old, manager *v1.PodManager) {
	end := status.EndBetween(manager, &old.Status, &manager.Status)
	if key := cache.MetaObjectToName(manager); end != nil && old.UID == manager.UID && c.shard.Has(key) {
		metrics.ObserveRollout(*end, c.Clock.Now())
		klog.FromContext(ctx).V(2).Info("Rollout counted", "podManager", key, "result", end.Result, "revision", end.Revision,
			"duration", c.Clock.Since(end.Started))
	}
}

func (c *Controller) podAdded(pod *corev1.Pod) {
	if owner, orphan := source.OrphanOf(pod); orphan {
		c.scheduler.Add(owner, queue.TriggerPodOrphaned, 0)
	} else if owner := c.managerOf(pod); owner != nil {
		c.enqueueForPod(owner, queue.TriggerPodAdded)
	}
}

// enqueueForPod enqueues the key of a pod's PodManager. A PodManager with many pods is enqueued with a delay, so that one sync handles many
// pod events.
func (c *Controller) enqueueForPod(owner *v1.PodManager, t queue.Trigger) {
	c.scheduler.Add(cache.MetaObjectToName(owner), t, requeue.BatchPeriod(owner))
}

func (c *Controller) podUpdated(old, pod *corev1.Pod) {
	if old.ResourceVersion == pod.ResourceVersion {
		return // a resync: the resync of the PodManagers is enough
	}
	owner := c.managerOf(pod)
	if before := c.managerOf(old); before != nil && (owner == nil || before.UID != owner.UID) {
		c.enqueueForPod(before, queue.TriggerPodChanged)
	}
	if took, became := podstate.BecameReady(old, pod); owner != nil && became {
		metrics.PodReadySeconds.Observe(took.Seconds())
	}
	switch {
	case owner == nil:
		c.podAdded(pod)
	case isRelevant(old, pod):
		c.enqueueForPod(owner, queue.TriggerPodChanged)
	}
}

// podDeleted handles a pod that has left the cache: it is gone, or another client has removed our label. If it has no deletionTimestamp, it
// may be either, and the next sync reads it live.
func (c *Controller) podDeleted(pod *corev1.Pod) {
	owner := c.managerOf(pod)
	if owner == nil {
		return
	}
	if key := cache.MetaObjectToName(owner); pod.DeletionTimestamp == nil && c.shard.Has(key) {
		c.States.Of(key).MarkUnsettled(pod.Name)
	}
	c.enqueueForPod(owner, queue.TriggerPodDeleted)
}

// revisionChanged enqueues the PodManager of a revision. If the revision is in use, the sync stores it again.
func (c *Controller) revisionChanged(obj any) {
	if owner := c.managerOf(lastKnown(obj)); owner != nil {
		c.scheduler.Add(cache.MetaObjectToName(owner), queue.TriggerRevision, 0)
	}
}

// managerOf returns the PodManager that controls a pod or revision: the one in the cache with the name and the UID of the controllerRef. It
// returns nil for an object of a deleted PodManager with the same name.
func (c *Controller) managerOf(object metav1.Object) *v1.PodManager {
	ref := source.ControllerOf(object)
	if ref == nil {
		return nil
	}
	manager := c.Scopes.Of(object.GetNamespace()).ManagerNamed(cache.NewObjectName(object.GetNamespace(), ref.Name))
	if manager == nil || manager.UID != ref.UID {
		return nil
	}
	return manager
}

// isRelevant reports whether an update of a pod can change the plan or the status. Many updates by kubelets cannot, because source.Trim keeps
// only what pkg/plan reads.
func isRelevant(old, pod *corev1.Pod) bool {
	return !equality.Semantic.DeepEqual(old.Labels, pod.Labels) ||
		!equality.Semantic.DeepEqual(old.OwnerReferences, pod.OwnerReferences) ||
		!equality.Semantic.DeepEqual(old.Annotations, pod.Annotations) ||
		!old.DeletionTimestamp.Equal(pod.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(old.Status, pod.Status)
}
