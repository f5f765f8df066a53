package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
)

// The resources that the tracker follows.
const (
	podsResource     consistency.Resource = "pods"
	managersResource consistency.Resource = "podmanagers"
)

// What made a PodManager be looked at, as logs and metrics call it.
const (
	triggerManagerAdded   = "managerAdded"
	triggerManagerChanged = "managerChanged"
	triggerManagerDeleted = "managerDeleted"
	triggerPodAdded       = "podAdded"
	triggerPodChanged     = "podChanged"
	triggerPodDeleted     = "podDeleted"
	triggerPodOrphaned    = "podOrphaned"
	triggerTime           = "time"
)

// addHandlers registers the filters and handlers of both informers. The filters keep away what can never matter; the
// handlers what has not changed anything, and what this process itself has written.
func (c *Controller) addHandlers(logger klog.Logger, scope Scope) error {
	_, err := scope.PodManagers.Informer().AddEventHandlerWithOptions(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.managerAdded(logger, obj) },
		UpdateFunc: func(old, obj any) { c.managerUpdated(logger, old, obj) },
		DeleteFunc: func(obj any) { c.managerDeleted(logger, obj) },
	}, cache.HandlerOptions{Logger: &logger})
	if err != nil {
		return fmt.Errorf("adding the PodManager handler: %w", err)
	}
	_, err = scope.Pods.Informer().AddEventHandlerWithOptions(cache.FilteringResourceEventHandler{
		FilterFunc: isManaged,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { c.podAdded(logger, obj) },
			UpdateFunc: func(old, obj any) { c.podUpdated(logger, old, obj) },
			DeleteFunc: func(obj any) { c.podDeleted(logger, obj) },
		},
	}, cache.HandlerOptions{Logger: &logger})
	if err != nil {
		return fmt.Errorf("adding the pod handler: %w", err)
	}
	return nil
}

// isManaged lets those pods through that have a PodManager, or carry the label of one.
func isManaged(obj any) bool {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return false
	}
	_, orphan := orphanOf(pod)
	return orphan || controllerOf(pod) != nil
}

func (c *Controller) managerAdded(logger klog.Logger, obj any) {
	c.enqueue(logger, cache.MetaObjectToName(obj.(*v1.PodManager)), triggerManagerAdded)
}

func (c *Controller) managerUpdated(logger klog.Logger, oldObj, obj any) {
	old, manager := oldObj.(*v1.PodManager), obj.(*v1.PodManager)
	key := cache.MetaObjectToName(manager)
	if old.ResourceVersion == manager.ResourceVersion {
		return // a resync: nothing has changed
	}
	if old.UID == manager.UID && c.tracker.IsEcho(key, managersResource, manager.ResourceVersion) {
		return
	}
	c.enqueue(logger, key, triggerManagerChanged)
}

func (c *Controller) managerDeleted(logger klog.Logger, obj any) {
	key, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		logger.Error(err, "Cannot tell which PodManager was deleted")
		return
	}
	c.enqueue(logger, key, triggerManagerDeleted)
}

func (c *Controller) podAdded(logger klog.Logger, obj any) {
	pod := obj.(*corev1.Pod)
	if owner, orphan := orphanOf(pod); orphan {
		c.enqueue(logger, owner, triggerPodOrphaned)
		return
	}
	if owner, found := c.managerOf(pod); found && !c.tracker.IsEcho(owner, podsResource, pod.ResourceVersion) {
		c.enqueue(logger, owner, triggerPodAdded)
	}
}

func (c *Controller) podUpdated(logger klog.Logger, oldObj, obj any) {
	old, pod := oldObj.(*corev1.Pod), obj.(*corev1.Pod)
	if old.ResourceVersion == pod.ResourceVersion {
		return // a resync: nothing has changed
	}
	owner, found := c.managerOf(pod)
	if before, had := c.managerOf(old); had && (!found || before != owner) {
		c.enqueue(logger, before, triggerPodChanged)
	}
	switch {
	case found:
		if !c.tracker.IsEcho(owner, podsResource, pod.ResourceVersion) && matters(old, pod) {
			c.enqueue(logger, owner, triggerPodChanged)
		}
	default:
		c.podAdded(logger, pod)
	}
}

func (c *Controller) podDeleted(logger klog.Logger, obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	// Never an echo: even if we asked for it, that the pod is gone is news.
	if owner, found := c.managerOf(obj.(*corev1.Pod)); found {
		c.enqueue(logger, owner, triggerPodDeleted)
	}
}

// managerOf is the PodManager that controls the pod: the one in the cache that has the name and the UID. A pod of a
// dead namesake is nobody's.
func (c *Controller) managerOf(pod *corev1.Pod) (cache.ObjectName, bool) {
	ref := controllerOf(pod)
	if ref == nil {
		return cache.ObjectName{}, false
	}
	manager, err := c.scopeOf(pod.Namespace).PodManagers.Lister().PodManagers(pod.Namespace).Get(ref.Name)
	if err != nil || manager.UID != ref.UID {
		return cache.ObjectName{}, false
	}
	return cache.MetaObjectToName(manager), true
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

func (c *Controller) enqueue(logger klog.Logger, key cache.ObjectName, trigger string) {
	logger.V(4).Info("Triggered", "podManager", key, "trigger", trigger)
	triggers.WithLabelValues(trigger).Inc()
	c.queue.Add(key)
}
