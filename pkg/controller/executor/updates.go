package executor

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// updatePod carries out one step of an in-place update. Each step can be repeated: it leaves the pod unchanged, or as the next step expects
// it.
func (e *Executor) updatePod(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, update inplace.Update) PodResult {
	if update.IsGateStep() {
		patch, err := update.GatePatch(e.Clock.Now())
		return e.patchInPlace(ctx, key, update, patch, err, "status")
	}
	// The resize is a separate request. The first patch announces the update, so that a later sync recognises a pod that was left between the
	// requests.
	begin, err := update.BeginPatch(e.Clock.Now())
	if begin != nil || err != nil {
		if r := e.patchInPlace(ctx, key, update, begin, err); r.Err != nil {
			return e.noteRefusal(ctx, key, update, false, r)
		}
	}
	resize, err := update.ResizePatch()
	if resize != nil || err != nil {
		r := e.resizePod(ctx, key, update, resize, err)
		// The images are not updated until the kubelet has resized the pod. If admission keeps the CPU and memory unchanged, there is nothing
		// for the kubelet to resize, so do not wait.
		if r.Err != nil || update.Step == inplace.StepResize && !update.HasToResize(r.Pod, update.Diff()) {
			return e.noteRefusal(ctx, key, update, false, r)
		}
	}
	// The revision label comes last: it marks the update as complete.
	patch, err := update.Patch(manager, e.Clock.Now())
	r := e.patchInPlace(ctx, key, update, patch, err)
	if r.Err == nil && update.Step == inplace.StepUpdate {
		metrics.PodsUpdatedInPlace.Inc()
		r.Err = alteredByAdmission(r.Pod, nil, map[string]string{v1.LabelRevision: update.To.Hash})
	}
	return e.noteRefusal(ctx, key, update, resize != nil, r)
}

// resizePod changes a pod's CPU and memory. An API server without pods/resize returns NotFound, just as it does for a missing pod. The next patch
// tells the two apart, because it is about the pod itself.
func (e *Executor) resizePod(ctx context.Context, key cache.ObjectName, update inplace.Update, patch []byte, err error) PodResult {
	r := e.patchInPlace(ctx, key, update, patch, err, "resize")
	switch {
	case !apierrors.IsNotFound(r.Err):
		return r
	case update.Step == inplace.StepRestore:
		return PodResult{Pod: update.Pod} // without pods/resize the pod was never resized
	default:
		return PodResult{Err: errNoResize}
	}
}

// errNoResize is the refusal of an API server without pods/resize.
var errNoResize = apierrors.NewBadRequest(
	"the API server does not serve pods/resize, without which CPU and memory cannot be updated in place; Kubernetes 1.33 and later serve it")

// openGate opens the readiness gate of a pod that is about to be released, because nothing would open it later. A controller that may not
// open it releases the pod all the same.
func (e *Executor) openGate(ctx context.Context, key cache.ObjectName, pod *corev1.Pod) error {
	if !inplace.GateBlocksTraffic(pod) || !e.Capabilities.CanResizeAndDrain {
		return nil
	}
	return e.updatePod(ctx, key, nil, inplace.Update{Pod: pod, Step: inplace.StepOpen}).Err
}

// noteRefusal returns the result of an update, unless the API server has refused it. In that case it records the refusal in an annotation of the
// pod, so that the next sync, even one by another controller, does not repeat the update. resized means that the pod was resized before the
// refusal.
func (e *Executor) noteRefusal(ctx context.Context, key cache.ObjectName, update inplace.Update, resized bool, r PodResult) PodResult {
	if r.Err == nil || update.Step == inplace.StepRestore {
		return r
	}
	failure := requeue.Failed(v1.ReasonFailedInPlaceUpdate, r.Err)
	if !failure.Refused() {
		return r
	}
	klog.FromContext(ctx).V(2).Info("Pod cannot be updated in place", "pod", klog.KObj(update.Pod), "err", failure.Message)
	patch, err := update.RefusalPatch(failure, resized, e.Clock.Now())
	noted := e.patchInPlace(ctx, key, update, patch, err)
	noted.refused = noted.Err == nil
	return noted
}

// patchInPlace patches the pod with this UID. If err, the error of building the patch, is not nil, it returns that error instead.
func (e *Executor) patchInPlace(ctx context.Context, key cache.ObjectName, update inplace.Update, patch []byte, err error, subresource ...string) PodResult {
	if err != nil {
		return PodResult{Err: err}
	}
	pod, err := e.patchPod(ctx, key, update.Pod, patch, subresource...)
	if err != nil {
		return PodResult{Err: changedUnlessInvalid(string(update.Pod.UID), fmt.Errorf("updating pod %s in place: %w", update.Pod.Name, err))}
	}
	klog.FromContext(ctx).V(2).Info("Patched pod for an update in place", "pod", klog.KObj(pod), "step", update.Step, "subresource", subresource)
	return PodResult{Pod: pod}
}
