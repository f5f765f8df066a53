package check

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// judgeBudget checks the PodDisruptionBudgets of a PodManager whose pods are evicted by others: by drains that should wait for replacements, or by a
// VerticalPodAutoscaler, which does not know how many pods a PodManager has. It reports false if neither applies.
func judgeBudget(f Facts) (finding Finding, applies bool) {
	rules := f.Manager.Spec.Disruption
	replaces := rules != nil && rules.OnDrain == v1.ReplaceDrain
	if !replaces && f.VPA == "" {
		return Finding{}, false
	}
	finding = Finding{Check: "Budget", Result: Warning, Advice: "create a PodDisruptionBudget with minAvailable or maxUnavailable for the label " +
		v1.LabelManager + "=" + f.Manager.Name}
	budget := budgetFor(f)
	switch {
	case f.BudgetsError != nil:
		finding.Result, finding.Says, finding.Advice = Unknown, "PodDisruptionBudgets cannot be read: "+f.BudgetsError.Error(), ""
	case budget == nil && f.VPA != "":
		finding.Says = fmt.Sprintf("VerticalPodAutoscaler %s may evict all pods at once, and no PodDisruptionBudget prevents that", f.VPA)
	case budget == nil:
		finding.Says = "onDrain is Replace, but no PodDisruptionBudget covers the pods: a drain evicts them before their replacements are available"
	case !replaces && blocksForEver(budget, f.Manager.DesiredReplicas()):
		finding.Says = fmt.Sprintf("PodDisruptionBudget %s never lets a pod be evicted: drains do not end", budget.Name)
		finding.Advice = "set disruption.onDrain: Replace, or lower minAvailable"
	default:
		finding.Result, finding.Says, finding.Advice = OK, fmt.Sprintf("PodDisruptionBudget %s covers the pods", budget.Name), ""
	}
	return finding, true
}

// budgetFor returns a PodDisruptionBudget that covers the pods, or nil.
func budgetFor(f Facts) *policyv1.PodDisruptionBudget {
	template := history.Template(&f.Manager.Spec)
	pod := labels.Set(podstate.Labels(f.Manager, template.Labels, "", 0))
	for i := range f.Budgets {
		selector, err := metav1.LabelSelectorAsSelector(f.Budgets[i].Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(pod) {
			return &f.Budgets[i]
		}
	}
	return nil
}

// blocksForEver reports whether a budget lets no pod be evicted, even if all are available.
func blocksForEver(budget *policyv1.PodDisruptionBudget, replicas int) bool {
	if most := budget.Spec.MaxUnavailable; most != nil {
		count, err := intstr.GetScaledValueFromIntOrPercent(most, replicas, true)
		return err == nil && count == 0
	}
	if least := budget.Spec.MinAvailable; least != nil {
		count, err := intstr.GetScaledValueFromIntOrPercent(least, replicas, true)
		return err == nil && count >= replicas
	}
	return false
}
