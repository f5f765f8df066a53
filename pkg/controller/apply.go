package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/plan"
)

// outcome is what came of a plan.
type outcome struct {
	// manager is the PodManager as the last write left it.
	manager *v1.PodManager
	created []*corev1.Pod
	// deleted, adopted and released have the pods as the API server answered.
	deleted  []*corev1.Pod
	adopted  []*corev1.Pod
	released []*corev1.Pod
	// changed are the pods that a step of a change in place was made with.
	changed map[plan.Step][]*corev1.Pod
	// collided is the name of a revision that stands for something else.
	collided string
	// gone tells that pods were to be deleted that turned out not to exist any more.
	gone bool
	// outdated tells that the plan was given up, because things are not as the cache shows them.
	outdated bool
	// finalized tells that the PodManager was let go; there is no status to write any more.
	finalized bool
	failure   *plan.Failure
	// err makes the key come back. A refusal is not an error: it is held, told and tried again later.
	err error
}

// apply carries out a plan, as far as it goes.
func (c *Controller) apply(ctx context.Context, key cache.ObjectName, observed *plan.Observed, decided plan.Plan) *outcome {
	done := &outcome{manager: observed.Manager, failure: decided.Held}
	switch {
	case decided.AddFinalizer:
		// Without it nothing may be created: pods could be left behind.
		if done.manager, done.err = c.addFinalizer(ctx, key, observed.Manager); done.err != nil {
			done.manager = observed.Manager
			return done
		}
	case observed.Manager.DeletionTimestamp == nil && decided.Weighs():
		if done.outdated, done.err = c.isOutdated(ctx, key, observed.Manager); done.outdated || done.err != nil {
			return done
		}
	}
	// Without the revision no pod may be made from it: what it was made from could not be told later.
	if decided.Store != nil && !c.storeRevision(ctx, key, decided.Store, done) {
		return done
	}
	if !c.applyClaims(ctx, key, decided, done) {
		return done
	}
	c.applyChange(ctx, key, decided.Change, done)
	deleted := c.applyDelete(ctx, key, decided.Delete, done)
	if done.gone {
		c.giveUp(key, done)
		return done
	}
	// Creates may count on the deletes: a pod that was to go and did not would be one too many beside its replacement.
	if deleted {
		c.applyCreate(ctx, key, decided.Create, done)
	}
	c.dropRevisions(ctx, key, decided.Drop, done)
	if decided.Finalize && done.err == nil {
		done.finalized, done.err = c.finalize(ctx, key, done.manager)
	}
	return done
}

// giveUp is for when the cache was found to be wrong: neither the rest of the plan nor a status may rest on it.
func (c *Controller) giveUp(key cache.ObjectName, done *outcome) {
	c.memories.of(key).distrust = true
	done.outdated = true
	c.enqueueAfter(key, staleRetry)
}

// isOutdated looks, at the API server itself, whether the PodManager still is what the plan was made for. The cache may
// be minutes old: that of a leader that was stopped and does not know yet that another one has taken over, say. One
// read is a small price for not creating, deleting or adopting pods that nobody wants any more.
func (c *Controller) isOutdated(ctx context.Context, key cache.ObjectName, manager *v1.PodManager) (bool, error) {
	live, err := c.podManagers.AppsV1().PodManagers(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("looking whether the PodManager is still the same: %w", err)
	}
	// The generation alone does not tell: after an etcd restore the same number may stand for another spec.
	if err == nil && live.UID == manager.UID && live.DeletionTimestamp == nil && equality.Semantic.DeepEqual(live.Spec, manager.Spec) &&
		plan.RemembersTheSame(&live.Status, &manager.Status) {
		return false, nil
	}
	klog.FromContext(ctx).V(2).Info("PodManager has changed or is gone, waiting for the cache to show it", "gone", err != nil)
	wait := goneRetry
	if err == nil && consistency.IsNewer(live.ResourceVersion, manager.ResourceVersion) {
		c.tracker.Saw(key, managersResource, live.ResourceVersion, c.clock.Now())
		wait = staleRetry
	}
	c.enqueueAfter(key, wait)
	return true, nil
}

// applyClaims lets pods go and takes pods in, and tells whether all went through. The rest of the plan counts on it: beside a
// pod that is still ours its replacement would be one too many, and without one that was to be ours there is one too few.
func (c *Controller) applyClaims(ctx context.Context, key cache.ObjectName, decided plan.Plan, done *outcome) bool {
	var releasedAll, adoptedAll bool
	done.released, releasedAll = done.claimed(inParallel(len(decided.Release), func(i int) result {
		return c.releasePod(ctx, key, done.manager, decided.Release[i])
	}))
	done.adopted, adoptedAll = done.claimed(inParallel(len(decided.Adopt), func(i int) result {
		return c.adoptPod(ctx, key, done.manager, decided.Adopt[i])
	}))
	if adoptedAll && len(done.adopted) < len(decided.Adopt) {
		c.giveUp(key, done) // one is gone, or has become somebody else's
		return false
	}
	return releasedAll && adoptedAll
}

// applyDelete deletes pods, and tells whether all went through.
func (c *Controller) applyDelete(ctx context.Context, key cache.ObjectName, deletions []plan.Deletion, done *outcome) bool {
	all := true
	results := inParallel(len(deletions), func(i int) result {
		return c.deletePod(ctx, key, deletions[i].Pod)
	})
	for _, r := range results {
		switch {
		case r.err != nil:
			all = false
			done.fail(plan.FailedDelete(r.err), r.err)
		case r.pod == nil:
			done.gone = true
		default:
			done.deleted = append(done.deleted, r.pod)
		}
	}
	return all
}

// applyCreate creates pods, one at first and then ever more at a time, and stops at the first that does not go through: a
// quota or a broken template then costs a few requests instead of hundreds.
func (c *Controller) applyCreate(ctx context.Context, key cache.ObjectName, creations []plan.Creation, done *outcome) {
	memory := c.memories.of(key)
	results := whileItWorks(len(creations), memory.trustIn(c.clock.Now()), func(i int) result {
		return c.createPod(ctx, key, done.manager, creations[i])
	})
	refused := map[string]plan.Failure{}
	for i, r := range results {
		revision := creations[i].Revision.Hash
		switch {
		case r.err == nil && r.pod != nil:
			memory.accept(revision)
			done.created = append(done.created, r.pod)
		case r.err != nil && plan.NamespaceIsGoing(r.err):
			klog.FromContext(ctx).V(2).Info("Namespace is being deleted, creating nothing")
			return
		case r.err != nil:
			failure := plan.FailedCreate(r.err)
			done.fail(failure, r.err)
			if failure.Refused() {
				refused[revision] = failure
			}
		}
	}
	memory.trust(len(done.created), done.failure == nil, c.clock.Now())
	// Once for all of them: each time doubles the hold, and a pod that went through would end it.
	for revision, failure := range refused {
		until := memory.refuse(revision, failure, done.manager.Generation, c.clock.Now())
		c.enqueueAfter(key, until.Sub(c.clock.Now()))
	}
}

// applyChange takes a step with each pod that is changed in place.
func (c *Controller) applyChange(ctx context.Context, key cache.ObjectName, changes []plan.InPlace, done *outcome) {
	results := inParallel(len(changes), func(i int) result { return c.changePod(ctx, key, done.manager, changes[i]) })
	done.changed = map[plan.Step][]*corev1.Pod{}
	for i, r := range results {
		switch step := changes[i].Step; {
		case r.err != nil:
			done.fail(plan.FailedChange(r.err), r.err)
		case r.pod != nil:
			done.changed[step] = append(done.changed[step], r.pod)
			if !changes[i].TurnsTheGate() && !changes[i].TakesTheNode() {
				c.enqueueAfter(key, staleRetry) // nobody else has anything to say about it
			}
		}
	}
}

// hasActed tells whether something was done to pods.
func (o *outcome) hasActed() bool { return len(o.created)+len(o.deleted)+len(o.changed) > 0 }

// claimed returns the pods of the requests that went through, and whether all did. The others are tried again, even if they
// were refused: until then nothing else can be done.
func (o *outcome) claimed(results []result) (pods []*corev1.Pod, all bool) {
	all = true
	for _, r := range results {
		switch {
		case r.err != nil:
			all = false
			o.fail(plan.FailedClaim(r.err), nil)
			o.err = errors.Join(o.err, r.err)
		case r.pod != nil:
			pods = append(pods, r.pod)
		}
	}
	return pods, all
}

// fail notes a failed request. The first failure is the one to tell; a refusal is held and not an error.
func (o *outcome) fail(failure plan.Failure, err error) {
	if o.failure == nil || (failure.Refused() && !o.failure.Refused()) {
		o.failure = &failure
	}
	if !failure.Refused() {
		o.err = errors.Join(o.err, err)
	}
}

// pods are the observed pods with what this sync has changed.
func (o *outcome) pods(observed []*corev1.Pod) []*corev1.Pod {
	changed := map[types.UID]*corev1.Pod{}
	for _, pod := range o.deleted {
		changed[pod.UID] = pod
	}
	for _, pod := range o.released {
		changed[pod.UID] = nil
	}
	for _, pods := range o.changed {
		for _, pod := range pods {
			changed[pod.UID] = pod
		}
	}
	after := make([]*corev1.Pod, 0, len(observed)+len(o.created))
	for _, pod := range observed {
		if now, found := changed[pod.UID]; !found {
			after = append(after, pod)
		} else if now != nil {
			after = append(after, now)
		}
	}
	after = append(after, o.adopted...)
	return append(after, o.created...)
}

// isGone tells whether a request failed because the pod that it was about is no longer there.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
