package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
)

// changePod takes one step of changing a pod in place. Each step can be repeated: it leaves the pod as it found it, or as
// the next step expects it.
func (c *Controller) changePod(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, change plan.InPlace) result {
	if change.Step != plan.StepChange {
		patch, err := change.GatePatch(c.clock.Now())
		return c.patchInPlace(ctx, key, change, patch, err, "status")
	}
	resize, err := change.ResizePatch()
	if resize != nil || err != nil {
		if r := c.patchInPlace(ctx, key, change, resize, err, "resize"); r.err != nil || r.pod == nil {
			return c.unlessRefused(ctx, key, change, r)
		}
	}
	// The revision goes last: it says that all of it was done.
	patch, err := change.Patch(manager, c.clock.Now())
	r := c.patchInPlace(ctx, key, change, patch, err)
	if r.pod != nil {
		podsChanged.Inc()
	}
	return c.unlessRefused(ctx, key, change, r)
}

// unlessRefused returns the result of a change, unless that was refused. This is written down on the pod then, so that the
// next sync takes the other way, and a controller that comes after this one does, too.
func (c *Controller) unlessRefused(ctx context.Context, key cache.ObjectName, change plan.InPlace, r result) result {
	if r.err == nil || !plan.Failed(v1.ReasonFailedChange, r.err).Refused() {
		return r
	}
	klog.FromContext(ctx).V(2).Info("Pod cannot be changed in place", "pod", klog.KObj(change.Pod), "err", plan.Words(r.err))
	patch, err := change.RefusalPatch(plan.Words(r.err))
	noted := c.patchInPlace(ctx, key, change, patch, err)
	noted.refused = noted.pod != nil
	return noted
}

// patchInPlace sends a patch of exactly this pod. It is no error if the pod is gone.
func (c *Controller) patchInPlace(ctx context.Context, key cache.ObjectName, change plan.InPlace, patch []byte, err error, subresource ...string) result {
	if err != nil {
		return result{err: err}
	}
	var pod *corev1.Pod
	pod, err = c.Kube.CoreV1().Pods(key.Namespace).Patch(ctx, change.Pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: Name}, subresource...)
	switch {
	case isGone(err):
		return result{}
	case err != nil:
		return result{err: fmt.Errorf("changing pod %s in place: %w", change.Pod.Name, err)}
	}
	klog.FromContext(ctx).V(2).Info("Changed pod in place", "pod", klog.KObj(pod), "step", change.Step, "subresource", subresource)
	c.wrote(key, pod)
	return result{pod: pod}
}
