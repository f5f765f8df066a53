package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/queue"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan"
)

// findRelabelled finds, once, the pods that another client relabelled while no controller was running: they have lost the label by which the informers
// select pods, and have kept the one with the UID. The API server selects them, so that the list is short in any cluster. Until this is done, createPod
// finds such a pod by its name when it creates a replacement.
func (c *Controller) findRelabelled(ctx context.Context, scope source.Scope) {
	pods := c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(scope.Namespace)
	lost := metav1.ListOptions{LabelSelector: "!" + v1.LabelManager + "," + v1.LabelManagerUID}
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 10, Cap: time.Minute}
	const atOnce = false // the first syncs need the API server more urgently
	_ = backoff.DelayFunc().Until(ctx, atOnce, false, func(ctx context.Context) (bool, error) {
		found, err := pods.List(ctx, lost)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("Cannot list pods that have lost the label podmanager, will try again", "err", err)
		}
		if err == nil {
			c.enqueueForRelabelled(found.Items)
		}
		return err == nil, nil
	})
}

// enqueueForRelabelled enqueues those of our PodManagers that control pods without our label.
func (c *Controller) enqueueForRelabelled(pods []metav1.PartialObjectMetadata) {
	for i := range pods {
		owner := c.managerOf(&pods[i])
		if owner == nil || !c.shard.Has(cache.MetaObjectToName(owner)) {
			continue
		}
		key := cache.MetaObjectToName(owner)
		c.States.Of(key).MarkUnsettled(pods[i].Name)
		c.scheduler.Add(key, queue.TriggerPodChanged, 0)
	}
}

// handOverPeriod is how often a shard looks for pods that belong to another shard. Such pods are rare: they exist only if a user changes the
// label. If the API server refuses to change one, the shard looks less and less often.
const handOverPeriod, longestHandOverPeriod = 5 * time.Second, 5 * time.Minute

// handOver gives pods with the label of this shard to the shard of their PodManager, until ctx is done. A user may have changed the label
// while the other shard had no holder. Then only this shard sees the pod.
func (c *Controller) handOver(ctx context.Context, scope source.Scope) {
	for period := handOverPeriod; ; {
		var err error
		pods := scope.Misplaced()
		for _, pod := range pods[:min(len(pods), plan.MaxPerSync)] {
			if failed := c.executor.HandOver(ctx, pod); err == nil {
				err = failed // the others are still handed over
			}
		}
		switch {
		case err == nil:
			period = handOverPeriod
		case ctx.Err() == nil:
			period = min(2*period, longestHandOverPeriod)
			klog.FromContext(ctx).Error(err, "Cannot relabel pods that belong to another shard", "shard", c.shard, "retryAfter", period)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(period):
		}
	}
}
