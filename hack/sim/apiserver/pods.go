package apiserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func newPodStatus(pod *corev1.Pod) corev1.PodStatus {
	status := corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosOf(pod)}
	if len(pod.Spec.SchedulingGates) > 0 {
		status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates",
		}}
	}
	return status
}

// qosOf returns the QoS class of a pod.
func qosOf(pod *corev1.Pod) corev1.PodQOSClass {
	isBestEffort, isGuaranteed := true, true
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
			isBestEffort = isBestEffort && request.IsZero() && limit.IsZero()
			isGuaranteed = isGuaranteed && !limit.IsZero() && request.Cmp(limit) == 0
		}
	}
	switch {
	case isBestEffort:
		return corev1.PodQOSBestEffort
	case isGuaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}

// keepPodStatus restores the fields that a status update cannot change or omit.
func keepPodStatus(pod, old *corev1.Pod) {
	pod.OwnerReferences = old.OwnerReferences
	setDefault(&pod.Status.QOSClass, old.Status.QOSClass)
	setDefault(&pod.Status.ObservedGeneration, old.Status.ObservedGeneration)
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if before := slices.IndexFunc(old.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type }); before >= 0 {
			setDefault(&condition.ObservedGeneration, old.Status.Conditions[before].ObservedGeneration)
		}
	}
}

// UpdatePodStatus writes the status of a pod without a transport. It is for kubelets, which send most of the writes. change modifies the present
// state and reports whether there is something to write.
func (s *Server) UpdatePodStatus(client, namespace, name string, change func(pod *corev1.Pod) bool) error {
	r := &Request{Client: client, Verb: "update", Resource: s.resource("pods"), Subresource: "status", Namespace: namespace, Name: name}
	s.mu.Lock()
	r.epoch = s.epoch
	s.mu.Unlock()
	_, err := s.modify(r, func(present *object) (Object, error) {
		next := present.Object.(*corev1.Pod).DeepCopy()
		if !change(next) {
			return nil, apierrors.NewNotFound(r.Resource.groupResource(), name)
		}
		if !equality.Semantic.DeepEqual(next.Status, present.Object.(*corev1.Pod).Status) {
			next.ManagedFields = kubeletFields()
		}
		return next, s.prepareUpdate(context.Background(), r, next, present)
	})
	return err
}

// kubeletFields returns the managed fields that show when the API server last got a status from the kubelet. The controller reads no others.
func kubeletFields() []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Subresource: "status", FieldsType: "FieldsV1",
		Time: &metav1.Time{Time: time.Now().Truncate(time.Second)}, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{}}}}`),
	}}
}

// updatablePodFields is the API server's message about which fields of a pod can be changed.
const updatablePodFields = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
	"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// validatePodUpdate refuses changes to a pod's immutable fields.
func validatePodUpdate(next, present *corev1.Pod) field.ErrorList {
	if equality.Semantic.DeepEqual(next.Spec, present.Spec) {
		return nil
	}
	path := field.NewPath("spec")
	pod, old := next.Spec.DeepCopy(), &present.Spec
	for i, kind := range []string{"containers", "initContainers"} {
		now, before := [][]corev1.Container{pod.Containers, pod.InitContainers}[i], [][]corev1.Container{old.Containers, old.InitContainers}[i]
		if len(now) != len(before) {
			return field.ErrorList{field.Forbidden(path.Child(kind), "pod updates may not add or remove containers")}
		}
		for c := range now {
			now[c].Image = before[c].Image
		}
	}
	for _, toleration := range old.Tolerations {
		if !slices.ContainsFunc(pod.Tolerations, func(t corev1.Toleration) bool { return equality.Semantic.DeepEqual(t, toleration) }) {
			return field.ErrorList{field.Forbidden(path.Child("tolerations"), "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	pod.Tolerations, pod.ActiveDeadlineSeconds, pod.SchedulingGates = old.Tolerations, old.ActiveDeadlineSeconds, old.SchedulingGates
	if !equality.Semantic.DeepEqual(pod, old) {
		return field.ErrorList{field.Forbidden(path, updatablePodFields)}
	}
	return nil
}

// keepUnlessResized takes the resources of a pod's containers from a request, and everything else from the present state.
func keepUnlessResized(pod, old *corev1.Pod) field.ErrorList {
	path := field.NewPath("spec")
	resized := old.DeepCopy()
	hasSameName := func(a, b corev1.Container) bool { return a.Name == b.Name }
	if !slices.EqualFunc(pod.Spec.Containers, old.Spec.Containers, hasSameName) {
		return field.ErrorList{field.Forbidden(path, "containers may not be added, removed, reordered or renamed on resize")}
	}
	for i, c := range pod.Spec.Containers {
		resized.Spec.Containers[i].Resources, resized.Spec.Containers[i].ResizePolicy = c.Resources, c.ResizePolicy
	}
	errs := checkLimits(resized)
	if qosOf(old) != qosOf(resized) {
		errs = append(errs, field.Invalid(path, old.Status.QOSClass, "Pod QOS Class may not change as a result of resizing"))
	}
	setDefault(&pod.UID, old.UID)
	resized.UID = pod.UID // so that a request with another pod's UID is refused
	*pod = *resized
	return errs
}

// checkLimits refuses requests above the limits.
func checkLimits(pod *corev1.Pod) (errs field.ErrorList) {
	for i, c := range pod.Spec.Containers {
		path := field.NewPath("spec", "containers").Index(i).Child("resources", "requests")
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
			if _, isLimited := c.Resources.Limits[name]; isLimited && request.Cmp(limit) > 0 {
				errs = append(errs, field.Invalid(path, request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
			}
		}
	}
	return errs
}

// setCondition sets a condition of a pod as the API server does.
func setCondition(pod *corev1.Pod, condition corev1.PodCondition) {
	condition.LastTransitionTime = now()
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
	if i < 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
		return
	}
	if pod.Status.Conditions[i].Status == condition.Status {
		condition.LastTransitionTime = pod.Status.Conditions[i].LastTransitionTime
	}
	pod.Status.Conditions[i] = condition
}
