package controller

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/plan"
)

const (
	// staleRetry is how soon to look again whether the cache has caught up. Watch events take milliseconds.
	staleRetry = 20 * time.Millisecond
	// goneRetry is the same for when there is no version to wait for, because the object is gone or the API server has
	// gone back in time: each look costs a request then.
	goneRetry = time.Second
	// staleLimit is how long a cache may stay behind before the API server is read instead. It is above what a busy
	// server needs to send its events, and far below what a user would accept.
	staleLimit = 10 * time.Second
)

// gather collects what a decision may rest on. It returns nil when there is nothing to decide, or when the cache does
// not yet show what this process has written itself; the key comes back then.
func (c *Controller) gather(ctx context.Context, key cache.ObjectName, now time.Time) (*plan.Observed, error) {
	logger := klog.FromContext(ctx)
	if err := c.settleUnknown(ctx, key); err != nil {
		return nil, err
	}
	scope := c.scopeOf(key.Namespace)
	// How far the stores are is asked before they are read: what is read then is at least that new.
	behind, isBehind := c.tracker.Behind(key, scope.seen(), now)
	memory := c.memories.of(key)
	switch {
	case isBehind && behind > staleLimit, memory.distrust:
		logger.V(2).Info("Reading from the API server: the cache is wrong or stays behind", "behind", behind)
		liveReads.Inc()
		memory.distrust = false
		return c.gatherLive(ctx, scope, key, now)
	case isBehind:
		logger.V(4).Info("Cache is behind own writes, waiting", "behind", behind)
		staleSkips.Inc()
		// An event brings the key back sooner; the longer none has come, the less it helps to look.
		c.enqueueAfter(key, max(staleRetry, min(behind/4, time.Second)))
		return nil, nil
	default:
		observed, err := c.gatherCached(logger, scope, key, now)
		if err != nil || observed == nil {
			return nil, err
		}
		if good := currentRevision(observed); good != nil {
			memory.good = good
		} else if observed.Manager.Status.CurrentRevision != "" && observed.Manager.DeletionTimestamp == nil {
			if err := c.bringBack(ctx, key, observed.Manager); err != nil {
				return nil, err
			}
			// Without it the pods' way back is lost, so this is not left to a cache that may be behind the other one.
			liveReads.Inc()
			return c.gatherLive(ctx, scope, key, now)
		}
		return observed, nil
	}
}

// currentRevision is the revision that the status calls the last good one; nil if it is not to be seen.
func currentRevision(observed *plan.Observed) *appsv1.ControllerRevision {
	for _, revision := range observed.Revisions {
		if revision.Name == observed.Manager.Status.CurrentRevision {
			return revision
		}
	}
	return nil
}

func (c *Controller) gatherCached(logger klog.Logger, scope Scope, key cache.ObjectName, now time.Time) (*plan.Observed, error) {
	manager, err := scope.PodManagers.Lister().PodManagers(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		logger.V(4).Info("Gone, nothing to do")
		c.forget(key)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pods, err := scope.indexed(byController, string(manager.UID))
	if err != nil {
		return nil, err
	}
	orphans, err := scope.indexed(byOrphanLabel, key.String())
	if err != nil {
		return nil, err
	}
	revisions, err := scope.revisionsOf(manager)
	if err != nil {
		return nil, err
	}
	return &plan.Observed{
		Manager: manager, Pods: pods, Orphans: orphans, Revisions: revisions, Now: now,
		PodNamed: func(name string) *corev1.Pod { return scope.podNamed(key.Namespace, name) },
		Holds:    c.memories.of(key).holdsOf(manager.Generation),
	}, nil
}

// gatherLive reads the same from the API server.
func (c *Controller) gatherLive(ctx context.Context, scope Scope, key cache.ObjectName, now time.Time) (*plan.Observed, error) {
	manager, err := c.podManagers.AppsV1().PodManagers(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		c.forget(key)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := c.listPods(ctx, manager)
	if err != nil {
		return nil, err
	}
	revisions, err := c.kube.AppsV1().ControllerRevisions(key.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: plan.Selector(manager.Name).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("listing the revisions: %w", err)
	}
	observed := &plan.Observed{Manager: manager, Now: now, Holds: c.memories.of(key).holdsOf(manager.Generation)}
	// Revisions are seldom written: the cache may not get as far as the list for long.
	newest := "0"
	for i := range revisions.Items {
		if revision := &revisions.Items[i]; metav1.IsControlledBy(revision, manager) {
			observed.Revisions = append(observed.Revisions, revision)
			if consistency.IsNewer(revision.ResourceVersion, newest) {
				newest = revision.ResourceVersion
			}
		}
	}
	byName := make(map[string]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pod := &list.Items[i]
		byName[pod.Name] = pod
		if metav1.IsControlledBy(pod, manager) {
			observed.Pods = append(observed.Pods, pod)
		} else if _, orphan := orphanOf(pod); orphan {
			observed.Orphans = append(observed.Orphans, pod)
		}
	}
	observed.PodNamed = func(name string) *corev1.Pod { return cmp.Or(byName[name], scope.podNamed(key.Namespace, name)) }
	podsVersion := list.ResourceVersion
	if scope.shows(key, observed) {
		podsVersion = "0" // where nothing happens, the cache would not get as far as the list for long
	}
	c.tracker.ReadLive(key, map[consistency.Resource]string{
		podsResource: podsVersion, managersResource: manager.ResourceVersion, revisionsResource: newest,
	}, now)
	return observed, nil
}

// listPods reads the pods that carry the PodManager's label, as they are now.
func (c *Controller) listPods(ctx context.Context, manager *v1.PodManager) (*corev1.PodList, error) {
	list, err := c.kube.CoreV1().Pods(manager.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: plan.Selector(manager.Name).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	return list, nil
}

// settleUnknown looks, at the API server itself, what became of creates whose answers were lost.
func (c *Controller) settleUnknown(ctx context.Context, key cache.ObjectName) error {
	for _, name := range c.tracker.Unsettled(key) {
		pod, err := c.kube.CoreV1().Pods(key.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			// It never arrived.
		case err != nil:
			return fmt.Errorf("looking whether pod %s was created: %w", name, err)
		default:
			c.tracker.Saw(key, podsResource, pod.ResourceVersion, c.clock.Now())
		}
		klog.FromContext(ctx).V(2).Info("Settled a create with a lost answer", "pod", klog.KRef(key.Namespace, name), "exists", err == nil)
		c.tracker.Settled(key, name)
	}
	return nil
}

// forget drops what was kept about a PodManager that is gone.
func (c *Controller) forget(key cache.ObjectName) {
	c.tracker.Forget(key)
	c.memories.forget(key)
}
