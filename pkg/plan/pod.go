package plan

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// NewPod returns the pod to create.
func NewPod(manager *v1.PodManager, creation Creation) *corev1.Pod {
	template := creation.Revision.Template().DeepCopy()
	owner := metav1.NewControllerRef(manager, v1.GroupVersionKind)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       manager.Namespace,
			Name:            podstate.PodName(manager.Name, creation.Index),
			Labels:          podstate.Labels(manager, template.Labels, creation.Revision.Hash, creation.Index),
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Spec: template.Spec,
	}
	// Only the controller and users set these annotations on pods. The CRD rejects them in a template, but an earlier version of the CRD may not.
	for _, key := range []string{
		v1.AnnotationDelete, v1.AnnotationFailuresBefore, v1.AnnotationDisruptionsBefore, v1.AnnotationReplaces, v1.AnnotationInPlace,
	} {
		delete(pod.Annotations, key)
	}
	health.SetReplaces(pod, creation.Replaces)
	if creation.FailuresBefore > 0 {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1.AnnotationFailuresBefore, strconv.Itoa(creation.FailuresBefore))
	}
	if creation.DisruptionsBefore > 0 {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1.AnnotationDisruptionsBefore, strconv.Itoa(creation.DisruptionsBefore))
	}
	if podstate.NeedsSafeToEvict(pod) {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, podstate.AnnotationSafeToEvict, "true")
	}
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		pod.Spec.TopologySpreadConstraints = defaultSpread(manager, creation.Revision.Hash, creation.SpreadOver)
	}
	if manager.InPlaceGrace() > 0 && !creation.Ungated && !podstate.HasGate(pod) {
		// Readiness gates cannot be added to an existing pod.
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: v1.InPlaceReady})
	}
	return pod
}
