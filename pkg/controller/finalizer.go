package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// addFinalizer makes sure that the PodManager cannot vanish before its pods have been seen to.
func (c *Controller) addFinalizer(ctx context.Context, key cache.ObjectName, manager *v1.PodManager) (*v1.PodManager, error) {
	return c.changeFinalizers(ctx, key, manager, func(finalizers []string) []string {
		return append(finalizers, v1.Finalizer)
	})
}

// finalize lets a deleted PodManager go, but only if the API server itself has none of its pods any more. It returns
// false if there was one that the cache did not show; the event about it brings the key back.
func (c *Controller) finalize(ctx context.Context, key cache.ObjectName, manager *v1.PodManager) (bool, error) {
	list, err := c.listPods(ctx, manager)
	if err != nil {
		return false, err
	}
	left := slices.IndexFunc(list.Items, func(pod corev1.Pod) bool { return metav1.IsControlledBy(&pod, manager) })
	if left >= 0 {
		klog.FromContext(ctx).V(2).Info("A pod is left, not finalizing yet", "pod", klog.KObj(&list.Items[left]))
		c.tracker.Saw(key, podsResource, list.Items[left].ResourceVersion, c.clock.Now())
		c.enqueueAfter(key, staleRetry)
		return false, nil
	}
	_, err = c.changeFinalizers(ctx, key, manager, func(finalizers []string) []string {
		return slices.DeleteFunc(finalizers, func(name string) bool { return name == v1.Finalizer })
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	klog.FromContext(ctx).V(2).Info("Finalized")
	return true, nil
}

// changeFinalizers writes the finalizers of exactly this PodManager. A merge patch replaces the whole list, so it goes
// with the resourceVersion of the list that it was made from; on a conflict the list is read anew.
func (c *Controller) changeFinalizers(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, change func([]string) []string) (*v1.PodManager, error) {
	client := c.podManagers.AppsV1().PodManagers(key.Namespace)
	current := manager
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if current == nil { // read right before the write: somebody else writes, too
			live, err := client.Get(ctx, key.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			current = live
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid":             manager.UID,
			"resourceVersion": current.ResourceVersion,
			"finalizers":      change(slices.Clone(current.Finalizers)),
		}})
		if err != nil {
			return err
		}
		current, err = client.Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: Name})
		if err != nil {
			current = nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("changing the finalizers: %w", err)
	}
	c.wroteManager(key, manager, current)
	return current, nil
}

// wroteManager makes the next sync wait until the cache shows what was written. Its event is an echo only if nobody
// else's change is in it: what was written onto a spec that no sync has seen yet must still be looked at.
func (c *Controller) wroteManager(key cache.ObjectName, synced, written *v1.PodManager) {
	if equality.Semantic.DeepEqual(synced.Spec, written.Spec) && synced.DeletionTimestamp.Equal(written.DeletionTimestamp) {
		c.tracker.Wrote(key, managersResource, written.ResourceVersion, c.clock.Now())
	} else {
		c.tracker.Saw(key, managersResource, written.ResourceVersion, c.clock.Now())
	}
}
