package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// evict deletes a pod if its disruption budget allows it.
func (s *Server) evict(ctx context.Context, r *Request) (*answer, error) {
	eviction := &policyv1.Eviction{}
	if err := decodeInto(r.Body, eviction); err != nil {
		return nil, err
	}
	present := s.get(r.Resource, r.key())
	if present == nil {
		return nil, apierrors.NewNotFound(r.Resource.groupResource(), r.Name)
	}
	options := ptr.Deref(eviction.DeleteOptions, metav1.DeleteOptions{})
	r.DryRun = r.DryRun || slices.Contains(options.DryRun, metav1.DryRunAll)
	if err := checkPreconditions(r, options.Preconditions, present); err != nil {
		return nil, err
	}
	pod := present.Object.(*corev1.Pod)
	isUnderWay := pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodUnknown
	if !isUnderWay {
		if err := s.checkBudget(r, pod); err != nil {
			return nil, err
		}
	}
	// Setting the condition is a separate write that changes the resource version, so only the UID can still be a precondition.
	options.Preconditions = &metav1.Preconditions{UID: &pod.UID}
	_, err := s.modify(r, func(present *object) (Object, error) {
		if err := checkPreconditions(r, options.Preconditions, present); err != nil {
			return nil, err
		}
		evicted := present.Object.(*corev1.Pod).DeepCopy()
		setCondition(evicted, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"})
		return evicted, nil
	})
	if err != nil {
		return nil, err
	}
	if _, _, err := s.remove(ctx, r, &options); err != nil {
		return nil, err
	}
	return created201(), nil
}

// checkBudget refuses an eviction that the pod's disruption budget does not allow. Otherwise it counts the eviction.
func (s *Server) checkBudget(r *Request, pod *corev1.Pod) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := s.resource("poddisruptionbudgets")
	var found []*object
	for _, o := range s.tables[resource.storage()].objects {
		selector, err := metav1.LabelSelectorAsSelector(o.Object.(*policyv1.PodDisruptionBudget).Spec.Selector)
		if o.GetNamespace() == pod.Namespace && err == nil && selector.Matches(labels.Set(pod.Labels)) {
			found = append(found, o)
		}
	}
	if len(found) > 1 {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}}
	}
	if len(found) == 0 {
		return nil
	}
	budget := found[0].Object.(*policyv1.PodDisruptionBudget).DeepCopy()
	isReady := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	isSpare := budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0
	if !isReady && (isSpare || ptr.Deref(budget.Spec.UnhealthyPodEvictionPolicy, "") == policyv1.AlwaysAllow) {
		return nil
	}
	if err := refuseEviction(budget); err != nil {
		return err
	}
	budget.Status.DisruptionsAllowed--
	if budget.Status.DisruptedPods == nil {
		budget.Status.DisruptedPods = map[string]metav1.Time{}
	}
	budget.Status.DisruptedPods[pod.Name] = now()
	own := *r
	own.Resource, own.Subresource, own.Verb, own.Name = resource, "status", "update", budget.Name
	s.write(&own, found[0], budget)
	return nil
}

func refuseEviction(budget *policyv1.PodDisruptionBudget) error {
	const refusal = "Cannot evict pod as it would violate the pod's disruption budget."
	because := func(seconds int, message string) error {
		err := apierrors.NewTooManyRequests(refusal, seconds)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: message})
		return err
	}
	status := budget.Status
	switch {
	case status.ObservedGeneration < budget.Generation:
		return because(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget.Name))
	case status.DisruptionsAllowed > 0:
		return nil
	case status.CurrentHealthy <= status.DesiredHealthy:
		return because(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", budget.Name, status.DesiredHealthy, status.CurrentHealthy))
	default:
		return because(0, fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", budget.Name))
	}
}
