package apiserver

import (
	"context"
	"encoding/json"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scaleOf returns the Scale of a custom resource that uses the conventional paths.
func scaleOf(o *object) *autoscalingv1.Scale {
	content := o.Object.(*unstructured.Unstructured).Object
	wanted, _, _ := unstructured.NestedInt64(content, "spec", "replicas")
	replicas, _, _ := unstructured.NestedInt64(content, "status", "replicas")
	selector, _, _ := unstructured.NestedString(content, "status", "selector")
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{Kind: "Scale", APIVersion: "autoscaling/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: o.GetName(), Namespace: o.GetNamespace(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), CreationTimestamp: o.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(wanted)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(replicas), Selector: selector},
	}
}

// scale serves the scale subresource, which reads and writes the number of replicas.
func (s *Server) scale(ctx context.Context, r *Request) (*answer, error) {
	if r.Verb == "get" {
		present := s.get(r.Resource, r.key())
		if present == nil {
			return nil, apierrors.NewNotFound(r.Resource.groupResource(), r.Name)
		}
		return object200(scaleOf(present)), nil
	}
	written, err := s.modify(r, func(present *object) (Object, error) {
		wanted, err := r.wantedScale(present)
		if err != nil {
			return nil, err
		}
		next := copyOf(present.Object).(*unstructured.Unstructured)
		if wanted.ResourceVersion != "" {
			next.SetResourceVersion(wanted.ResourceVersion)
		}
		if wanted.UID != "" {
			next.SetUID(wanted.UID)
		}
		if wanted.Spec.Replicas < 0 {
			return nil, apierrors.NewInvalid(schema.GroupKind{Group: "autoscaling", Kind: "Scale"}, r.Name, field.ErrorList{
				field.Invalid(field.NewPath("spec", "replicas"), wanted.Spec.Replicas, "must be greater than or equal to 0")})
		}
		if err := unstructured.SetNestedField(next.Object, int64(wanted.Spec.Replicas), "spec", "replicas"); err != nil {
			return nil, err
		}
		return next, s.prepareUpdate(ctx, r, next, present)
	})
	if err != nil {
		return nil, err
	}
	return object200(scaleOf(written)), nil
}

func (r *Request) wantedScale(present *object) (*autoscalingv1.Scale, error) {
	document := r.Body
	if r.Verb == "patch" {
		original, err := json.Marshal(scaleOf(present))
		if err != nil {
			return nil, err
		}
		if document, err = r.applyPatch(original, &autoscalingv1.Scale{}); err != nil {
			return nil, err
		}
	}
	wanted := &autoscalingv1.Scale{}
	return wanted, decodeInto(document, wanted)
}

// bind assigns a pod to a node.
func (s *Server) bind(r *Request) (*answer, error) {
	binding := &corev1.Binding{}
	if err := decodeInto(r.Body, binding); err != nil {
		return nil, err
	}
	if binding.Name != r.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	_, err := s.modify(r, func(present *object) (Object, error) {
		if err := checkUID(r, string(binding.UID), present); err != nil {
			return nil, err
		}
		pod := present.Object.(*corev1.Pod).DeepCopy()
		var refusal error
		switch {
		case pod.DeletionTimestamp != nil:
			refusal = fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
		case pod.Spec.NodeName != "":
			refusal = fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
		case len(pod.Spec.SchedulingGates) > 0:
			refusal = fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
		}
		if refusal != nil {
			return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, r.Name, refusal)
		}
		pod.Spec.NodeName, pod.Status.NominatedNodeName = binding.Target.Name, ""
		for name, value := range binding.Annotations {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, name, value)
		}
		setCondition(pod, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
		return pod, nil
	})
	if err != nil {
		return nil, err
	}
	return created201(), nil
}
