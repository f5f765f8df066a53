package executor

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// updatePod takes one step of updating a pod in place. Each step can be repeated: it leaves the pod as it found it, or as
// the next step expects it.
func (e *Executor) updatePod(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, change inplace.Update) Result {
	if change.TurnsTheGate() {
		patch, err := change.GatePatch(e.Clock.Now())
		return e.patchInPlace(ctx, key, change, patch, err, "status")
	}
	// A resize goes by a request of its own. So that nobody is misled who finds the pod between the two, it is announced.
	begin, err := change.BeginPatch(e.Clock.Now())
	if begin != nil || err != nil {
		if r := e.patchInPlace(ctx, key, change, begin, err); r.Err != nil || r.Pod == nil {
			return e.unlessRefused(ctx, key, change, false, r)
		}
	}
	resize, err := change.ResizePatch()
	if resize != nil || err != nil {
		if r := e.resizePod(ctx, key, change, resize, err); r.Err != nil || r.Pod == nil {
			return e.unlessRefused(ctx, key, change, false, r)
		}
	}
	// The revision goes last: it says that all of it was done.
	patch, err := change.Patch(manager, e.Clock.Now())
	r := e.patchInPlace(ctx, key, change, patch, err)
	if r.Pod != nil && change.Step == inplace.StepUpdate {
		metrics.PodsUpdatedInPlace.Inc()
	}
	return e.unlessRefused(ctx, key, change, resize != nil, r)
}

// resizePod changes a pod's CPU and memory. An API server that has no such subresource answers as if there were no such pod:
// the pod is looked at to tell the two apart.
func (e *Executor) resizePod(ctx context.Context, key cache.ObjectName, change inplace.Update, patch []byte, err error) Result {
	if err != nil {
		return Result{Err: err}
	}
	pod, err := e.sendPatch(ctx, key, change, patch, "resize")
	if !apierrors.IsNotFound(err) {
		return e.patched(ctx, key, change, pod, err, "resize")
	}
	live, err := e.Kube.CoreV1().Pods(key.Namespace).Get(ctx, change.Pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && live.UID != change.Pod.UID:
		return Result{}
	case err != nil:
		return Result{Err: fmt.Errorf("looking whether pod %s is still there: %w", change.Pod.Name, err)}
	case change.Step == inplace.StepRestore:
		return Result{Pod: live} // nor was it ever resized
	default:
		return Result{Err: errNoResize}
	}
}

// errNoResize is the refusal of an API server that cannot resize pods.
var errNoResize = apierrors.NewBadRequest("the API server has no pods/resize, which CPU and memory are updated in place with from Kubernetes 1.33 on")

// openGate opens the readiness gate of a pod that is about to be released, if it is closed: nobody would do it later.
func (e *Executor) openGate(ctx context.Context, key cache.ObjectName, pod *corev1.Pod) error {
	if !inplace.MustOpenFirst(pod) {
		return nil
	}
	return e.updatePod(ctx, key, nil, inplace.Update{Pod: pod, Step: inplace.StepOpen}).Err
}

// unlessRefused returns the result of a change, unless that was refused. This is written down on the pod then, so that the
// next sync takes the other way, and a controller that comes after this one does, too. resized tells that CPU and memory had
// gone through before.
func (e *Executor) unlessRefused(ctx context.Context, key cache.ObjectName, change inplace.Update, resized bool, r Result) Result {
	if r.Err == nil || change.Step == inplace.StepRestore || !requeue.Failed(v1.ReasonFailedInPlaceUpdate, r.Err).Refused() {
		return r
	}
	klog.FromContext(ctx).V(2).Info("Pod cannot be updated in place", "pod", klog.KObj(change.Pod), "err", requeue.Words(r.Err))
	patch, err := change.RefusalPatch(requeue.Words(r.Err), resized)
	noted := e.patchInPlace(ctx, key, change, patch, err)
	noted.refused = noted.Pod != nil
	return noted
}

// patchInPlace sends a patch of exactly this pod. It is no error if the pod is gone.
func (e *Executor) patchInPlace(ctx context.Context, key cache.ObjectName, change inplace.Update, patch []byte, err error, subresource ...string) Result {
	if err != nil {
		return Result{Err: err}
	}
	pod, err := e.sendPatch(ctx, key, change, patch, subresource...)
	return e.patched(ctx, key, change, pod, err, subresource...)
}

func (e *Executor) sendPatch(ctx context.Context, key cache.ObjectName, change inplace.Update, patch []byte, subresource ...string) (*corev1.Pod, error) {
	return e.Kube.CoreV1().Pods(key.Namespace).Patch(ctx, change.Pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: v1.ControllerName}, subresource...)
}

// patched is the result of a patch.
func (e *Executor) patched(ctx context.Context, key cache.ObjectName, change inplace.Update, pod *corev1.Pod, err error, subresource ...string) Result {
	switch {
	case isGone(err):
		return Result{}
	case err != nil:
		return Result{Err: fmt.Errorf("updating pod %s in place: %w", change.Pod.Name, err)}
	}
	klog.FromContext(ctx).V(2).Info("Updated pod in place", "pod", klog.KObj(pod), "step", change.Step, "subresource", subresource)
	e.wrote(key, pod)
	return Result{Pod: pod}
}
