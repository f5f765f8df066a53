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
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// gather collects what a decision may rest on. It returns nil when there is nothing to decide, or when the cache does
// not yet show what this process has written itself; then it says when to look again.
func (c *Controller) gather(ctx context.Context, key cache.ObjectName, now time.Time) (*plan.Observed, requeue.LookAgain, error) {
	logger := klog.FromContext(ctx)
	scope := c.Scopes.Of(key.Namespace)
	strayed, err := c.settleUnknown(ctx, key)
	if err == nil {
		err = c.recheckTaken(ctx, key, now)
	}
	if err != nil {
		return nil, requeue.LookAgain{}, err
	}
	// How far the stores are is asked before they are read: what is read then is at least that new.
	behind, isBehind := c.Tracker.Behind(key, scope.Seen(), now)
	memory := c.Memories.Of(key)
	limit := executor.StaleLimit << min(memory.LiveReads, 3)
	limit += spread(key, limit/2)
	switch {
	case isBehind && behind <= limit && !memory.Distrust:
		logger.V(4).Info("Cache is behind own writes, waiting", "behind", behind)
		metrics.StaleSkips.Inc()
		// An event brings the key back sooner; the longer none has come, the less it helps to look.
		return nil, requeue.After(now, max(executor.StaleRetry, min(behind/4, time.Second)), requeue.AgainCache), nil
	case isBehind:
		memory.LiveReads++
	default:
		memory.LiveReads = 0
	}
	if isBehind || memory.Distrust {
		logger.V(2).Info("Reading from the API server: the cache is wrong or stays behind", "behind", behind)
		metrics.LiveReads.Inc()
		memory.Distrust = false
		observed, err := c.gatherLive(ctx, scope, key, now)
		return c.withStrayed(key, observed, strayed), requeue.LookAgain{}, err
	}
	observed, err := c.gatherCached(ctx, scope, key, now)
	return c.withStrayed(key, observed, strayed), requeue.LookAgain{}, err
}

// withStrayed adds pods that are ours and not in the cache, because they have lost the label.
func (c *Controller) withStrayed(key cache.ObjectName, observed *plan.Observed, strayed []*corev1.Pod) *plan.Observed {
	if observed == nil {
		return nil
	}
	for _, pod := range strayed {
		known := func(other *corev1.Pod) bool { return other.UID == pod.UID }
		switch {
		case !metav1.IsControlledBy(pod, observed.Manager):
			c.Tracker.Settled(key, pod.Name)
		case !slices.ContainsFunc(observed.Pods, known):
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
		// The caches may be apart: pods that the user has asked to keep may still look like ours.
		return c.gatherLive(ctx, scope, key, now)
	}
	observed := c.observe(key, manager, now)
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
		memory.Good = good
	} else if manager.Status.CurrentRevision != "" && manager.DeletionTimestamp == nil {
		if err := c.executor.BringBack(ctx, key, manager); err != nil {
			return nil, err
		}
		// Without it the pods' way back is lost, so this is not left to a cache that may be behind the other one.
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

// observe begins an observation with what is remembered.
func (c *Controller) observe(key cache.ObjectName, manager *v1.PodManager, now time.Time) *plan.Observed {
	memory := c.Memories.Of(key)
	return &plan.Observed{
		Manager: manager, Remembered: memory.Remembered(manager), Taken: memory.TakenNames(), Holds: memory.HoldsOf(manager.Generation), Now: now,
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

// gatherLive reads the same from the API server.
func (c *Controller) gatherLive(ctx context.Context, scope source.Scope, key cache.ObjectName, now time.Time) (*plan.Observed, error) {
	manager, err := c.Scopes.Live(ctx, c.PodManagers, key)
	if apierrors.IsNotFound(err) {
		c.forget(key)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ours := metav1.ListOptions{LabelSelector: plan.Selector(manager.Name).String()}
	list, err := c.Kube.CoreV1().Pods(key.Namespace).List(ctx, ours)
	if err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	revisions, err := c.Kube.AppsV1().ControllerRevisions(key.Namespace).List(ctx, ours)
	if err != nil {
		return nil, fmt.Errorf("listing the revisions: %w", err)
	}
	observed := c.observe(key, manager, now)
	waitFor := map[consistency.Resource]string{source.ManagersResource: manager.ResourceVersion}
	stored := source.Claim(manager, pointers(revisions.Items))
	for _, revision := range slices.Concat(stored.Own, stored.Orphans) {
		// Revisions are seldom written: the cache may not get as far as the list for long, but it gets as far as these.
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
	if !scope.Shows(observed) { // where it does, there is nothing to wait for
		waitFor[source.PodsResource] = list.ResourceVersion
	}
	c.Tracker.ReadLive(key, waitFor, now)
	return observed, nil
}

// settleUnknown looks, at the API server itself, what became of creates whose answers were lost, and of pods that have left the
// cache without having been seen to end. It returns those that are still there without our label: as long as they are ours, they
// have to be looked at each time.
func (c *Controller) settleUnknown(ctx context.Context, key cache.ObjectName) ([]*corev1.Pod, error) {
	names := c.Tracker.Unsettled(key)
	results := executor.InParallel(len(names), c.executor.Lanes.Of(len(names)), func(i int) executor.Result {
		pod, err := c.Kube.CoreV1().Pods(key.Namespace).Get(ctx, names[i], metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return executor.Result{} // it never arrived, or is gone
		}
		return executor.Result{Pod: pod, Err: err}
	})
	var strayed []*corev1.Pod
	for i, r := range results {
		if r.Err != nil {
			return nil, fmt.Errorf("looking what became of pod %s: %w", names[i], r.Err)
		}
		klog.FromContext(ctx).V(2).Info("Looked what became of a pod", "pod", klog.KRef(key.Namespace, names[i]), "exists", r.Pod != nil)
		if pod := r.Pod; pod != nil && pod.Labels[v1.LabelManager] != "" {
			c.Tracker.Saw(key, source.PodsResource, pod.ResourceVersion, c.Clock.Now())
		} else if pod != nil && source.ControllerOf(pod) != nil && pod.DeletionTimestamp == nil {
			strayed = append(strayed, pod)
			continue // to be looked at until it is released
		}
		c.Tracker.Settled(key, names[i])
	}
	return strayed, nil
}

// recheckTaken looks whether names are still in the hands of pods that are not watched, whenever it is time for that.
func (c *Controller) recheckTaken(ctx context.Context, key cache.ObjectName, now time.Time) error {
	memory := c.Memories.Of(key)
	for name, taken := range memory.Taken {
		if now.Before(taken.Recheck) {
			continue
		}
		pod, err := c.Kube.CoreV1().Pods(key.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && pod.Labels[v1.LabelManager] != "":
			delete(memory.Taken, name) // free, or the cache shows it
		case err != nil:
			return fmt.Errorf("looking whose pod %s is: %w", name, err)
		default:
			memory.Take(name, plan.IsForeign(pod), now)
		}
	}
	return nil
}

// spread is a part of a duration that differs from key to key, and not from time to time.
func spread(key cache.ObjectName, most time.Duration) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key.String())) // never fails, says hash.Hash
	return time.Duration(float64(most) * float64(hash.Sum32()) / (1 << 32))
}

// forget drops what was kept about a PodManager that is gone.
func (c *Controller) forget(key cache.ObjectName) {
	c.Tracker.Forget(key)
	c.Memories.Forget(key)
	c.agenda.Forget(key)
}
