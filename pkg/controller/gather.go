package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/controller/executor"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// certainFor is how old the information about pods may be when a plan takes down ready pods. A shorter time would help little, because it takes about
// as long until the controller learns that a pod has failed.
const certainFor = 5 * time.Second

// decide makes the plan for what was observed. If the plan takes down ready pods while others are to stay, decide reads the pods live first,
// unless the information is recent: the watch may have stalled, or the caches of a new leader may lag behind.
func (c *Controller) decide(ctx context.Context, key cache.ObjectName, observed *plan.Observed) (*plan.Observed, plan.Plan, error) {
	decided := c.makePlan(*observed)
	if !decided.TakesDown(observed.Manager) || observed.IsLive || observed.Now.Sub(c.States.Of(key).PodsAsOf) < certainFor {
		return observed, decided, nil
	}
	klog.FromContext(ctx).V(4).Info("Reading from the API server: the plan takes pods down")
	observed, err := c.gatherLive(ctx, c.Scopes.Of(key.Namespace), key, observed.Now)
	if err != nil || observed == nil {
		return nil, plan.Plan{}, err
	}
	return observed, c.makePlan(*observed), nil
}

// gather collects the objects for a decision. It returns nil if the PodManager is gone. It also returns nil if the caches do not show all of
// the controller's own writes yet; then it returns when to requeue the key, too.
func (c *Controller) gather(ctx context.Context, key cache.ObjectName, now time.Time) (*plan.Observed, requeue.Requeue, error) {
	logger := klog.FromContext(ctx)
	scope := c.Scopes.Of(key.Namespace)
	if err := c.lookUpNames(ctx, key, now); err != nil {
		return nil, requeue.Requeue{}, err
	}
	// Get the resourceVersions of the stores before reading the stores, so that what is read is at least that new.
	behind, isBehind := c.States.Of(key).Behind(scope.Seen(), now)
	state := c.States.Of(key)
	if isBehind && behind <= reconcile.StaleLimit && !state.ReadLive {
		logger.V(4).Info("Cache is behind own writes, waiting", "behind", behind)
		metrics.StaleSkips.Inc()
		// An event enqueues the key sooner. The longer the cache stays behind, the longer the controller waits between requeues.
		return nil, requeue.After(now, max(reconcile.StaleRetry, min(behind/4, time.Second)), requeue.RequeueCache), nil
	}
	gather := c.gatherCached
	if isBehind || state.ReadLive {
		logger.V(2).Info("Reading from the API server: the cache is wrong or stays behind", "behind", behind)
		gather = c.gatherLive
	}
	observed, err := gather(ctx, scope, key, now)
	return observed, requeue.Requeue{}, err
}

func (c *Controller) gatherCached(ctx context.Context, scope source.Scope, key cache.ObjectName, now time.Time) (*plan.Observed, error) {
	manager := scope.ManagerNamed(key)
	if manager == nil {
		klog.FromContext(ctx).V(4).Info("Gone, nothing to do")
		c.forget(key)
		return nil, nil
	}
	if manager.DeletionTimestamp != nil && slices.Contains(manager.Finalizers, v1.Finalizer) {
		// One cache may be behind the other: the PodManager may still seem to control pods that the user wants to keep.
		return c.gatherLive(ctx, scope, key, now)
	}
	manager = c.States.Of(key).WithWholeStatus(manager)
	observed := c.newObserved(key, manager, now)
	c.claim(observed, scope.PodsOf(manager), scope.RevisionsOf(manager))
	observed.PodNamed = func(name string) *corev1.Pod { return scope.PodNamed(key.Namespace, name) }
	hasCurrent := func(r *appsv1.ControllerRevision) bool { return r.Name == manager.Status.CurrentRevision }
	if manager.Status.CurrentRevision != "" && manager.DeletionTimestamp == nil && !slices.ContainsFunc(observed.Revisions, hasCurrent) {
		// Without the current revision, a rollback is impossible. The revision cache may just be behind the PodManager cache, so read live.
		return c.gatherLive(ctx, scope, key, now)
	}
	return observed, nil
}

// claim adds pods and revisions to an observation. It also adds the pods that the cache will never show, because they lack our label. The PodManager
// releases those that it controls, and leaves their names to the others.
func (c *Controller) claim(observed *plan.Observed, pods source.Claims[*corev1.Pod], revisions source.Claims[*appsv1.ControllerRevision]) {
	observed.Pods, observed.Orphans, observed.Leftovers = pods.Own, pods.Orphans, pods.Leftovers
	observed.Revisions, observed.OrphanRevisions, observed.LeftoverRevisions = revisions.Own, revisions.Orphans, revisions.Leftovers
	observed.Taken = map[string]bool{}
	state := c.States.Of(cache.MetaObjectToName(observed.Manager))
	for _, pod := range state.Outside() {
		isSame := func(other *corev1.Pod) bool { return other.UID == pod.UID }
		switch {
		case !metav1.IsControlledBy(pod, observed.Manager) || pod.DeletionTimestamp != nil:
			observed.Taken[pod.Name] = plan.IsForeign(pod)
		case !slices.ContainsFunc(observed.Pods, isSame):
			observed.Pods = append(observed.Pods, pod)
			state.MarkUnsettled(pod.Name) // until it is released
		}
	}
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// newObserved returns an observation of the PodManager and of what is remembered about it, without pods and revisions.
func (c *Controller) newObserved(key cache.ObjectName, manager *v1.PodManager, now time.Time) *plan.Observed {
	state := c.States.Of(key)
	observed := &plan.Observed{
		Manager: manager, Remembered: state.Remembered(manager), Backoffs: state.BackoffsOf(manager),
		Capabilities: c.Capabilities, Spreading: c.Spreading, Now: now,
	}
	if manager.NeedsNodes() {
		c.Nodes.Need()
		observed.NodesForbidden, observed.NodeOf = c.Nodes.Forbidden(), c.Nodes.Of
	}
	return observed
}

// gatherLive collects the same objects as gatherCached, by a live read. The caches have to catch up with the resourceVersions of these
// objects, not with those of the lists: a store in which nothing changes may take a minute to reach a list's resourceVersion.
func (c *Controller) gatherLive(ctx context.Context, scope source.Scope, key cache.ObjectName, now time.Time) (*plan.Observed, error) {
	metrics.LiveReads.Inc()
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
	observed := c.newObserved(key, c.States.Of(key).WithWholeStatus(manager), now)
	observed.IsLive = true
	c.claim(observed, source.Claim(manager, pointers(list.Items)), source.Claim(manager, pointers(revisions.Items)))
	if err := c.addRelabelled(ctx, scope, observed); err != nil {
		return nil, err
	}
	byName := make(map[string]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	observed.PodNamed = func(name string) *corev1.Pod { return cmp.Or(byName[name], scope.PodNamed(key.Namespace, name)) }
	c.States.Of(key).RecordLive(map[consistency.Resource]string{
		source.ManagersResource:  manager.ResourceVersion,
		source.PodsResource:      newest(slices.Concat(observed.Pods, observed.Orphans)),
		source.RevisionsResource: newest(slices.Concat(observed.Revisions, observed.OrphanRevisions)),
	}, now)
	state := c.States.Of(key)
	state.ReadLive, state.PodsAsOf = showsGone(scope, observed), now
	return observed, nil
}

// addRelabelled adds the pods that a list by label misses: the PodManager controls them, and a user has given their label another value. The plan
// releases them. Without them, the plan would try to create pods with names that are in use.
func (c *Controller) addRelabelled(ctx context.Context, scope source.Scope, observed *plan.Observed) error {
	for _, cached := range scope.PodsOf(observed.Manager).Own {
		isSame := func(pod *corev1.Pod) bool { return pod.UID == cached.UID }
		if cached.Labels[v1.LabelManager] == observed.Manager.Name || slices.ContainsFunc(observed.Pods, isSame) {
			continue
		}
		pod, err := c.Kube.CoreV1().Pods(cached.Namespace).Get(ctx, cached.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("getting pod %s: %w", cached.Name, err)
		case isSame(pod) && metav1.IsControlledBy(pod, observed.Manager):
			observed.Pods = append(observed.Pods, pod)
		}
	}
	return nil
}

// newest returns the highest resourceVersion of some objects. It is empty if there are none.
func newest[T metav1.Object](objects []T) (version string) {
	for _, object := range objects {
		if consistency.IsNewer(object.GetResourceVersion(), version) {
			version = object.GetResourceVersion()
		}
	}
	return version
}

// showsGone reports whether the cache shows pods that a live read did not find. Until the cache has seen their deletion, syncs read live.
func showsGone(scope source.Scope, observed *plan.Observed) bool {
	found := map[types.UID]bool{}
	for _, pod := range slices.Concat(observed.Pods, observed.Orphans, observed.Leftovers) {
		found[pod.UID] = true
	}
	cached := scope.PodsOf(observed.Manager)
	return slices.ContainsFunc(slices.Concat(cached.Own, cached.Orphans), func(pod *corev1.Pod) bool { return !found[pod.UID] })
}

// lookUpNames does a live read of the pod names for which the cache is not enough.
func (c *Controller) lookUpNames(ctx context.Context, key cache.ObjectName, now time.Time) (err error) {
	names := c.States.Of(key).Unsettled(now)
	for _, r := range executor.InParallel(len(names), func(i int) executor.PodResult {
		_, err := c.LookUp(ctx, key, names[i])
		return executor.PodResult{Err: err}
	}) {
		err = cmp.Or(err, r.Err)
	}
	return err
}

// forget drops everything that is kept for a deleted PodManager.
func (c *Controller) forget(key cache.ObjectName) {
	c.States.Forget(key)
	c.scheduler.Forget(key)
}
