package budget

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// Covering returns the budgets of a PodManager's namespace that cover the pods that it creates from its present template.
func Covering(manager *v1.PodManager, all []policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget {
	template := history.Template(&manager.Spec)
	pod := labels.Set(podstate.Labels(manager, template.Labels, "", 0))
	var found []*policyv1.PodDisruptionBudget
	for i := range all {
		selector, err := metav1.LabelSelectorAsSelector(all[i].Spec.Selector)
		if err == nil && all[i].Spec.Selector != nil && selector.Matches(pod) {
			found = append(found, &all[i])
		}
	}
	return found
}

// Needs returns how many healthy pods a budget demands of a PodManager with this many replicas. A percentage refers to the replicas, even while there
// are more pods.
func Needs(budget *policyv1.PodDisruptionBudget, replicas int) int {
	if most := budget.Spec.MaxUnavailable; most != nil {
		return max(0, replicas-scaled(most, replicas))
	}
	if least := budget.Spec.MinAvailable; least != nil {
		return scaled(least, replicas)
	}
	return 0
}

// scaled returns a number or a percentage of the replicas, rounded up. The API server accepts no other value.
func scaled(value *intstr.IntOrString, replicas int) int {
	count, err := intstr.GetScaledValueFromIntOrPercent(value, replicas, true)
	if err != nil {
		return replicas
	}
	return count
}

// Replaces reports whether a pod on a drained node gets its replacement before it is evicted. It never does if a pod and its replacement must not run
// at the same time (Recreate, TerminationComplete).
func Replaces(manager *v1.PodManager) bool {
	rules := manager.Spec.Disruption
	return rules != nil && rules.OnDrain == v1.ReplaceDrain && manager.Strategy() != v1.RecreateStrategy &&
		manager.Spec.PodReplacementPolicy != v1.TerminationComplete
}

// BlocksForEver returns why a budget never allows the last pod of a node to be evicted. It assumes that all replicas are available and, if the pod
// gets a replacement first, the replacement, too. It returns an empty string if the budget allows the eviction in that state.
func BlocksForEver(budget *policyv1.PodDisruptionBudget, manager *v1.PodManager) string {
	replicas := manager.DesiredReplicas()
	needs, most := Needs(budget, replicas), replicas
	if Replaces(manager) {
		most++ // one replacement, if one of the pods is on the drained node
	}
	switch {
	case replicas == 0 || needs < most:
		return ""
	case most > replicas:
		return fmt.Sprintf("it needs %s, and with a replacement has %d", Healthy(needs), most)
	default:
		return fmt.Sprintf("it needs %s, and has %d", Healthy(needs), most)
	}
}

// Healthy formats a number of healthy pods.
func Healthy(count int) string {
	if count == 1 {
		return "1 healthy pod"
	}
	return fmt.Sprintf("%d healthy pods", count)
}

// Refusal returns why the eviction of a pod is refused, or an empty string if it is allowed. others are the other pods that the budgets cover.
func Refusal(budgets []*policyv1.PodDisruptionBudget, replicas int, pod *corev1.Pod, others []*corev1.Pod) string {
	if len(budgets) == 0 || podstate.IsFinished(pod) || pod.Status.Phase == corev1.PodPending {
		return ""
	}
	if len(budgets) > 1 {
		return fmt.Sprintf("more than one PodDisruptionBudget covers it: %s and %s", budgets[0].Name, budgets[1].Name)
	}
	healthy := 0
	for _, other := range others {
		if other.DeletionTimestamp == nil && podstate.IsReady(other) {
			healthy++
		}
	}
	budget, needs := budgets[0], Needs(budgets[0], replicas)
	if !podstate.IsReady(pod) {
		policy := budget.Spec.UnhealthyPodEvictionPolicy
		if policy != nil && *policy == policyv1.AlwaysAllow || needs > 0 && healthy >= needs {
			return ""
		}
	} else {
		healthy++
	}
	if healthy > needs {
		return ""
	}
	return fmt.Sprintf("PodDisruptionBudget %s needs %s and has %d", budget.Name, Healthy(needs), healthy)
}
