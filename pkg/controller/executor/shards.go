package executor

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/shard"
)

// stamp sets the shard label on an object to be written, so that the shard's cache will show it.
func (e *Executor) stamp(object *metav1.ObjectMeta) {
	if part := e.Scopes.Of(object.Namespace).Shard(); part.Count > 0 {
		metav1.SetMetaDataLabel(object, v1.LabelShard, part.String())
	}
}

// labelsToClaim returns the labels for a pod that a PodManager adopts.
func (e *Executor) labelsToClaim(key cache.ObjectName, manager *v1.PodManager) map[string]string {
	labels := map[string]string{v1.LabelManagerUID: string(manager.UID)}
	if part := e.Scopes.Of(key.Namespace).Shard(); part.Count > 0 {
		labels[v1.LabelShard] = part.String()
	}
	return labels
}

// labelForShard sets the shard label on pods and revisions of the PodManager that lack it: they were created before sharding was turned on, or
// another client has changed the label. It reports whether there are such objects. If so, the sync does nothing else, because the cache shows the
// controller's own writes only for objects that are in the shard.
func (e *Executor) labelForShard(ctx context.Context, key cache.ObjectName, observed *plan.Observed, done *reconcile.Outcome) bool {
	part := e.Scopes.Of(key.Namespace).Shard()
	if part.Count == 0 || observed.Manager.DeletionTimestamp != nil {
		return false
	}
	isInside := func(object *metav1.ObjectMeta) bool { // or not to be labelled
		return object.Labels[v1.LabelManager] != key.Name || part.IsIn(object.Labels) || object.DeletionTimestamp != nil
	}
	pods := slices.DeleteFunc(slices.Clone(observed.Pods), func(pod *corev1.Pod) bool { return isInside(&pod.ObjectMeta) })
	revisions := slices.DeleteFunc(slices.Clone(observed.Revisions), func(r *appsv1.ControllerRevision) bool { return isInside(&r.ObjectMeta) })
	if len(pods)+len(revisions) == 0 {
		return false
	}
	if backoff, found := observed.Backoffs[requeue.BackoffAdopt]; found && observed.Now.Before(backoff.Until) {
		done.Failure = &backoff.Failure
		done.Requeue(requeue.Requeue{At: backoff.Until, Why: requeue.RequeueRefused})
		return true
	}
	pods = pods[:min(len(pods), plan.MaxPerSync)]
	results := InParallel(len(pods), func(i int) PodResult {
		return e.patchMetadata(ctx, key, pods[i], map[string]any{"labels": map[string]any{v1.LabelShard: part.String()}})
	})
	for _, revision := range revisions {
		if _, err := e.writeRevision(ctx, key, revision.DeepCopy(), true); err != nil {
			err = changedUnlessInvalid(revision.Name, fmt.Errorf("labelling revision %s: %w", revision.Name, err))
			results = append(results, PodResult{Err: err})
		}
	}
	if _, all := e.collect(key, requeue.BackoffAdopt, results, done); all {
		done.Outdated = true
		done.Requeue(requeue.After(e.Clock.Now(), reconcile.StaleRetry, requeue.RequeueCache))
		klog.FromContext(ctx).V(2).Info("Labelled pods and revisions for the shard", "shard", part, "pods", len(pods), "revisions", len(revisions))
	}
	return true
}

// HandOver sets the label of the right shard on a pod that is in this shard but belongs to a PodManager of another one.
func (e *Executor) HandOver(ctx context.Context, pod *corev1.Pod) error {
	owner, found := source.ManagerKey(pod)
	if !found {
		return nil
	}
	part := shard.Of(owner.Namespace, owner.Name, e.Scopes.Of(owner.Namespace).Shard().Count)
	r := e.patchMetadata(ctx, owner, pod, map[string]any{"labels": map[string]any{v1.LabelShard: part.String()}})
	if r.Pod != nil {
		klog.FromContext(ctx).V(2).Info("Relabelled a pod that belongs to another shard", "pod", klog.KObj(pod), "shard", part)
	}
	return r.Err
}
