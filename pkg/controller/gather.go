package controller

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/controller/executor"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// gather collects the objects for a decision. It returns nil if the PodManager is gone, and also if the caches do not show all own
// writes yet; then it returns when to requeue the key.
func (c *Controller) gather(ctx context.Context, key cache.ObjectName, now time.Time) (*plan.Observed, requeue.LookAgain, error) {
	logger := klog.FromContext(ctx)
	scope := c.Scopes.Of(key.Namespace)
	relabelled, err := c.resolveUnsettled(ctx, key)
	if err == nil {
		err = c.recheckTakenNames(ctx, key, now)
	}
	if err != nil {
		return nil, requeue.LookAgain{}, err
	}
	// Ask for the resourceVersions of the stores before reading the stores: what is read is at least that new.
	behind, isBehind := c.Tracker.Behind(key, scope.Seen(), now)
	memory := c.Memories.Of(key)
	limit := executor.StaleLimit << min(memory.LiveReads, 3)
	limit += jitterOf(key, limit/2)
	switch {
	case isBehind && behind <= limit && !memory.ReadLive:
		logger.V(4).Info("Cache is behind own writes, waiting", "behind", behind)
		metrics.StaleSkips.Inc()
		// An event enqueues the key sooner. The longer no event arrives, the less a requeue helps.
		return nil, requeue.After(now, max(executor.StaleRetry, min(behind/4, time.Second)), requeue.AgainCache), nil
	case isBehind:
		memory.LiveReads++
	default:
		memory.LiveReads = 0
	}
	if isBehind || memory.ReadLive {
		logger.V(2).Info("Reading from the API server: the cache is wrong or stays behind", "behind", behind)
		metrics.LiveReads.Inc()
		memory.ReadLive = false
		observed, err := c.gatherLive(ctx, scope, key, now)
		return c.withRelabelled(key, observed, relabelled), requeue.LookAgain{}, err
	}
	observed, err := c.gatherCached(ctx, scope, key, now)
	return c.withRelabelled(key, observed, relabelled), requeue.LookAgain{}, err
}

// withRelabelled adds pods that the PodManager controls and that are not in the cache, because they have lost the label.
func (c *Controller) withRelabelled(key cache.ObjectName, observed *plan.Observed, relabelled []*corev1.Pod) *plan.Observed {
	if observed == nil {
		return nil
	}
	for _, pod := range relabelled {
		isSame := func(other *corev1.Pod) bool { return other.UID == pod.UID }
		switch {
		case !metav1.IsControlledBy(pod, observed.Manager):
			c.Tracker.MarkSettled(key, pod.Name)
		case !slices.ContainsFunc(observed.Pods, isSame):
			observed.Pods = append(observed.Pods, pod)
		}
	}
	return observed
}

func (c *Controller) gatherCached(ctx context.Context, scope source.Scope, key cache.ObjectName, now time.Time) (*plan.Observed, error) {
	manager, err := scope.PodManagers.Lister().PodManagers(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		klog.FromContext(ctx).V(4).Info("Gone, nothing to do")
		c.forget(key)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if manager.DeletionTimestamp != nil && slices.Contains(manager.Finalizers, v1.Finalizer) {
		// One cache may be behind the other: pods that the user wants to keep may still seem to be controlled by the
		// PodManager.
		return c.gatherLive(ctx, scope, key, now)
	}
	observed := c.newObserved(key, manager, now)
	pods, err := scope.PodsOf(manager)
	if err != nil {
		return nil, err
	}
	revisions, err := scope.RevisionsOf(manager)
	if err != nil {
		return nil, err
	}
	claim(observed, pods, revisions)
	observed.PodNamed = func(name string) *corev1.Pod { return scope.PodNamed(key.Namespace, name) }

	memory := c.Memories.Of(key)
	if good := currentRevision(observed); good != nil {
		memory.CurrentRevision = good
	} else if manager.Status.CurrentRevision != "" && manager.DeletionTimestamp == nil {
		if err := c.executor.RestoreRevision(ctx, key, manager); err != nil {
			return nil, err
		}
		// Without the current revision no rollback is possible. The revision cache may just be behind the PodManager cache, so read live.
		metrics.LiveReads.Inc()
		return c.gatherLive(ctx, scope, key, now)
	}
	return observed, nil
}

// claim adds pods and revisions to an observation.
func claim(observed *plan.Observed, pods source.Claims[*corev1.Pod], revisions source.Claims[*appsv1.ControllerRevision]) {
	observed.Pods, observed.Orphans, observed.Leftovers = pods.Own, pods.Orphans, pods.Leftovers
	observed.Revisions, observed.OrphanRevisions, observed.LeftoverRevisions = revisions.Own, revisions.Orphans, revisions.Leftovers
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// newObserved is an observation of the PodManager and of what is remembered about it, still without pods and revisions.
func (c *Controller) newObserved(key cache.ObjectName, manager *v1.PodManager, now time.Time) *plan.Observed {
	memory := c.Memories.Of(key)
	return &plan.Observed{
		Manager: manager, Remembered: memory.Remembered(manager), Taken: memory.TakenNames(), Holds: memory.HoldsOf(manager.Generation),
		Means: c.Means, Now: now,
	}
}

// currentRevision is the revision in status.currentRevision, the last good one; nil if it was not observed.
func currentRevision(observed *plan.Observed) *appsv1.ControllerRevision {
	for _, revision := range observed.Revisions {
		if revision.Name == observed.Manager.Status.CurrentRevision {
			return revision
		}
	}
	return nil
}

// gatherLive collects the same objects as gatherCached, by a live read.
func (c *Controller) gatherLive(ctx context.Context, scope source.Scope, key cache.ObjectName, now time.Time) (*plan.Observed, error) {
	manager, err := c.Scopes.Live(ctx, c.PodManagers, key)
	if apierrors.IsNotFound(err) {
		c.forget(key)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	selected := metav1.ListOptions{LabelSelector: podstate.Selector(manager.Name).String()}
	list, err := c.Kube.CoreV1().Pods(key.Namespace).List(ctx, selected)
	if err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	revisions, err := c.Kube.AppsV1().ControllerRevisions(key.Namespace).List(ctx, selected)
	if err != nil {
		return nil, fmt.Errorf("listing the revisions: %w", err)
	}
	observed := c.newObserved(key, manager, now)
	waitFor := map[consistency.Resource]string{source.ManagersResource: manager.ResourceVersion}
	stored := source.Claim(manager, pointers(revisions.Items))
	for _, revision := range slices.Concat(stored.Own, stored.Orphans) {
		// Revisions are seldom written: the cache may take long to reach the resourceVersion of the list, but it reaches those of these
		// revisions.
		if newest, found := waitFor[source.RevisionsResource]; !found || consistency.IsNewer(revision.ResourceVersion, newest) {
			waitFor[source.RevisionsResource] = revision.ResourceVersion
		}
	}
	claim(observed, source.Claim(manager, pointers(list.Items)), stored)
	byName := make(map[string]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	observed.PodNamed = func(name string) *corev1.Pod { return cmp.Or(byName[name], scope.PodNamed(key.Namespace, name)) }
	if !scope.IsUpToDate(observed) { // otherwise the pod cache need not catch up
		waitFor[source.PodsResource] = list.ResourceVersion
	}
	c.Tracker.ReadLive(key, waitFor, now)
	return observed, nil
}

// resolveUnsettled reads live the pods whose fate is unknown: the answer to their create was lost, or they left the cache without a
// deletionTimestamp. It returns the pods that exist without our label. Each sync reads them again until they are released.
func (c *Controller) resolveUnsettled(ctx context.Context, key cache.ObjectName) ([]*corev1.Pod, error) {
	names := c.Tracker.Unsettled(key)
	results := executor.InParallel(len(names), c.executor.Lanes.Of(len(names)), func(i int) executor.PodResult {
		pod, err := c.Kube.CoreV1().Pods(key.Namespace).Get(ctx, names[i], metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return executor.PodResult{} // never created, or gone
		}
		return executor.PodResult{Pod: pod, Err: err}
	})
	var relabelled []*corev1.Pod
	for i, r := range results {
		if r.Err != nil {
			return nil, fmt.Errorf("looking what became of pod %s: %w", names[i], r.Err)
		}
		klog.FromContext(ctx).V(2).Info("Looked what became of a pod", "pod", klog.KRef(key.Namespace, names[i]), "exists", r.Pod != nil)
		if pod := r.Pod; pod != nil && c.Scopes.Of(key.Namespace).Shows(pod.Labels) {
			c.Tracker.Saw(key, source.PodsResource, pod.ResourceVersion, c.Clock.Now())
		} else if pod != nil && source.ControllerOf(pod) != nil && pod.DeletionTimestamp == nil {
			relabelled = append(relabelled, pod)
			continue // unsettled until it is released
		}
		c.Tracker.MarkSettled(key, names[i])
	}
	return relabelled, nil
}

// recheckTakenNames reads live the pods that have taken names, when their recheck is due, and drops names that are free again.
func (c *Controller) recheckTakenNames(ctx context.Context, key cache.ObjectName, now time.Time) error {
	memory := c.Memories.Of(key)
	for name, taken := range memory.Taken {
		if now.Before(taken.Recheck) {
			continue
		}
		pod, err := c.Kube.CoreV1().Pods(key.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && c.Scopes.Of(key.Namespace).Shows(pod.Labels):
			delete(memory.Taken, name) // the name is free, or the cache shows the pod
		case err != nil:
			return fmt.Errorf("looking whose pod %s is: %w", name, err)
		default:
			memory.NoteTakenName(name, plan.IsForeign(pod), now)
		}
	}
	return nil
}

// jitterOf is a jitter below limit that is always the same for a key.
func jitterOf(key cache.ObjectName, limit time.Duration) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key.String())) // hash.Hash never returns an error
	return time.Duration(float64(limit) * float64(hash.Sum32()) / (1 << 32))
}

// forget drops everything that is kept for the key of a deleted PodManager.
func (c *Controller) forget(key cache.ObjectName) {
	c.Tracker.Forget(key)
	c.Memories.Forget(key)
	c.agenda.Forget(key)
}
