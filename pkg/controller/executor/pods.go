package executor

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// createPod creates one pod. The deterministic name prevents duplicates: if the response to an earlier create was lost, this create fails
// with AlreadyExists, and a live read shows who controls the pod with that name.
func (e *Executor) createPod(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, creation plan.Creation) PodResult {
	logger := klog.FromContext(ctx)
	wanted := plan.NewPod(manager, creation)
	e.stamp(&wanted.ObjectMeta)
	pod, err := e.Kube.CoreV1().Pods(key.Namespace).Create(ctx, wanted, metav1.CreateOptions{FieldManager: v1.ControllerName, FieldValidation: metav1.FieldValidationIgnore})
	switch {
	case err == nil:
		logger.V(2).Info("Created pod", "pod", klog.KObj(pod), "revision", creation.Revision.Name)
		metrics.PodsCreated.Inc()
		e.trackWrite(key, pod)
		return e.unlessAltered(ctx, key, manager, PodResult{Pod: pod}, wanted.Labels)
	case apierrors.IsAlreadyExists(err):
		return e.resolveNameInUse(ctx, key, wanted.Name, err)
	default:
		if outcomeIsUnknown(err) {
			e.States.Of(key).MarkUnsettled(wanted.Name)
		}
		metrics.PodFailures.WithLabelValues(metrics.OperationCreate).Inc()
		return PodResult{Err: fmt.Errorf("creating pod %s: %w", wanted.Name, err)}
	}
}

// resolveNameInUse looks up the pod that already has the name of a pod to create, and that the cache did not show. Nothing has failed: the next sync
// knows the pod, takes another name, releases the pod, or finds the name free.
func (e *Executor) resolveNameInUse(ctx context.Context, key cache.ObjectName, name string, inUse error) PodResult {
	isOutside, err := e.LookUp(ctx, key, name)
	switch {
	case err != nil:
		return PodResult{Err: err}
	case isOutside:
		return PodResult{taken: true}
	default:
		return PodResult{Err: reconcile.Changed(name, fmt.Errorf("creating pod %s: %w", name, inUse))}
	}
}

// unlessAltered returns the result of a create, unless admission has altered the pod. In that case it deletes the pod, which no plan would count: each
// sync would create another one.
func (e *Executor) unlessAltered(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, r PodResult, labels map[string]string) PodResult {
	altered := alteredByAdmission(r.Pod, manager, labels)
	if altered == nil {
		return r
	}
	deletion := rollout.Deletion{Pod: r.Pod, Why: "altered by admission"}
	if deleted := e.deletePodIf(ctx, key, deletion, metav1.NewUIDPreconditions(string(r.Pod.UID))); deleted.Err != nil {
		klog.FromContext(ctx).Error(deleted.Err, "Failed to delete a pod that admission has altered", "pod", klog.KObj(r.Pod))
	}
	return PodResult{Err: fmt.Errorf("creating pod %s: %w", r.Pod.Name, altered)}
}

// alteredByAdmission returns the refusal that it amounts to if a policy or webhook has admitted a pod without the owner or the labels by which the
// PodManager knows it. manager may be nil if the request did not set the owner.
func alteredByAdmission(pod *corev1.Pod, manager *v1.PodManager, labels map[string]string) error {
	refused := func(what string) error {
		return apierrors.NewForbidden(corev1.Resource("pods"), pod.Name, fmt.Errorf("an admission policy or webhook has removed or changed %s", what))
	}
	if manager != nil && !metav1.IsControlledBy(pod, manager) {
		return refused("the owner reference")
	}
	for _, label := range []string{v1.LabelManager, v1.LabelManagerUID, v1.LabelRevision, v1.LabelShard} {
		if want, isSet := labels[label]; isSet && pod.Labels[label] != want {
			return refused("the label " + label)
		}
	}
	return nil
}

// outcomeIsUnknown reports whether a failed write may have been applied: the API server has not responded, or has given up halfway.
func outcomeIsUnknown(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown || apierrors.IsTimeout(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err) || apierrors.IsUnexpectedServerError(err)
}

// deletePod deletes the pod with this UID, not a later one with the same name. If the pod's PodManager is being deleted or is gone, the
// resourceVersion is a precondition, too: a pod that was orphaned in the meantime must stay.
func (e *Executor) deletePod(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, deletion rollout.Deletion) PodResult {
	preconditions := metav1.NewUIDPreconditions(string(deletion.Pod.UID))
	if manager.DeletionTimestamp != nil || !metav1.IsControlledBy(deletion.Pod, manager) {
		preconditions.ResourceVersion = &deletion.Pod.ResourceVersion
	}
	return e.deletePodIf(ctx, key, deletion, preconditions)
}

// deletePodIf deletes a pod for which the preconditions hold. The typed client would drop the response, but the cache has to catch up with its
// resourceVersion.
func (e *Executor) deletePodIf(ctx context.Context, key cache.ObjectName, deletion rollout.Deletion, preconditions *metav1.Preconditions) PodResult {
	pod, deleted := deletion.Pod, &corev1.Pod{}
	options := &metav1.DeleteOptions{Preconditions: preconditions}
	if deletion.Force {
		options.GracePeriodSeconds = ptr.To[int64](0)
	}
	err := e.Kube.CoreV1().RESTClient().Delete().
		Namespace(pod.Namespace).Resource("pods").Name(pod.Name).
		Body(options).
		Do(ctx).Into(deleted)
	if err != nil {
		metrics.PodFailures.WithLabelValues(metrics.OperationDelete).Inc()
		return PodResult{Err: changedUnlessInvalid(string(pod.UID), fmt.Errorf("deleting pod %s: %w", pod.Name, err))}
	}
	klog.FromContext(ctx).V(2).Info("Deleted pod", "pod", klog.KObj(pod), "why", deletion.Why)
	metrics.PodsDeleted.Inc()
	e.trackWrite(key, deleted)
	if deleted.DeletionTimestamp == nil {
		// The pod is gone already. Until its delete event arrives, it counts as terminating.
		deleted.DeletionTimestamp = &metav1.Time{Time: e.Clock.Now()}
	}
	return PodResult{Pod: deleted}
}

// adoptPod makes the PodManager the controller of a pod that has none.
func (e *Executor) adoptPod(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, pod *corev1.Pod) PodResult {
	labels := e.labelsToClaim(key, manager)
	metadata := map[string]any{
		"ownerReferences": []any{metav1.NewControllerRef(manager, v1.GroupVersionKind)},
		"labels":          labels,
	}
	if podstate.NeedsSafeToEvict(pod) {
		metadata["annotations"] = safeToEvict
	}
	r := e.patchMetadata(ctx, key, pod, metadata)
	if r.Pod == nil {
		return r
	}
	if altered := alteredByAdmission(r.Pod, manager, labels); altered != nil {
		return PodResult{Err: fmt.Errorf("adopting pod %s: %w", pod.Name, altered)}
	}
	klog.FromContext(ctx).V(2).Info("Adopted pod", "pod", klog.KObj(pod))
	return r
}

var safeToEvict = map[string]string{podstate.AnnotationSafeToEvict: "true"}

// annotatePod lets Cluster Autoscaler remove the node of a pod that was created without the annotation.
func (e *Executor) annotatePod(ctx context.Context, key cache.ObjectName, pod *corev1.Pod) PodResult {
	r := e.patchMetadata(ctx, key, pod, map[string]any{"annotations": safeToEvict})
	if r.Pod != nil {
		klog.FromContext(ctx).V(2).Info("Annotated pod", "pod", klog.KObj(pod), "annotation", podstate.AnnotationSafeToEvict)
	}
	return r
}

// releasePod removes the PodManager's ownerReference from a pod, and leaves the pod running and in service.
func (e *Executor) releasePod(ctx context.Context, key cache.ObjectName, manager *v1.PodManager, pod *corev1.Pod) PodResult {
	if err := e.openGate(ctx, key, pod); err != nil {
		return PodResult{Err: err}
	}
	r := e.patchMetadata(ctx, key, pod, map[string]any{
		"ownerReferences": []any{map[string]any{"$patch": "delete", "uid": manager.UID}},
		"labels":          map[string]any{v1.LabelManagerUID: nil, v1.LabelShard: nil},
	})
	if r.Pod != nil {
		klog.FromContext(ctx).V(2).Info("Released pod", "pod", klog.KObj(pod))
	}
	return r
}

// patchMetadata patches the metadata of the pod with this UID.
func (e *Executor) patchMetadata(ctx context.Context, key cache.ObjectName, pod *corev1.Pod, metadata map[string]any) PodResult {
	metadata["uid"] = pod.UID
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return PodResult{Err: err}
	}
	patched, err := e.patchPod(ctx, key, pod, patch)
	if err != nil {
		// The pod may be gone, its name may belong to another pod, or it may have another controller by now.
		return PodResult{Err: changed(string(pod.UID), fmt.Errorf("changing the metadata of pod %s: %w", pod.Name, err))}
	}
	return PodResult{Pod: patched}
}

// patchPod sends a patch, which includes the pod's UID.
func (e *Executor) patchPod(ctx context.Context, key cache.ObjectName, pod *corev1.Pod, patch []byte, subresource ...string) (*corev1.Pod, error) {
	patched, err := e.Kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldManager: v1.ControllerName}, subresource...)
	if err == nil {
		e.trackWrite(key, patched)
	}
	return patched, err
}

// trackWrite makes the next sync wait until the cache shows this version of the pod. The cache never shows a pod without our labels.
func (e *Executor) trackWrite(key cache.ObjectName, pod *corev1.Pod) {
	if !e.Scopes.Of(key.Namespace).Shard().IsIn(pod.Labels) {
		return
	}
	e.States.Of(key).Saw(source.PodsResource, pod.ResourceVersion, e.Clock.Now())
}
