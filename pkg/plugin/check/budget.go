package check

import (
	"fmt"
	"strings"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/budget"
)

// judgeBudget checks the PodDisruptionBudgets that cover the pods of a PodManager. applies is false if there is none and none is needed. One is
// needed if drains should wait for replacements (onDrain: Replace), or if a VerticalPodAutoscaler targets the PodManager: the autoscaler evicts pods,
// and does not know how many pods a PodManager has.
func judgeBudget(f Facts) (finding Finding, applies bool) {
	rules := f.Manager.Spec.Disruption
	asks := rules != nil && rules.OnDrain == v1.ReplaceDrain
	budgets := budget.Covering(f.Manager, f.Budgets)
	if !asks && f.VPA == "" && len(budgets) == 0 {
		return Finding{}, false
	}
	finding = Finding{Check: "Budget", Result: Warning, Advice: "create a PodDisruptionBudget with minAvailable or maxUnavailable for the label " +
		v1.LabelManager + "=" + f.Manager.Name}
	switch {
	case f.BudgetsError != nil:
		finding.Result, finding.Says, finding.Advice = Unknown, "PodDisruptionBudgets cannot be read: "+f.BudgetsError.Error(), ""
	case len(budgets) == 0 && f.VPA != "":
		finding.Says = fmt.Sprintf("VerticalPodAutoscaler %s may evict all pods at once, and no PodDisruptionBudget prevents that", f.VPA)
	case len(budgets) == 0:
		finding.Says = "onDrain is Replace, but no PodDisruptionBudget covers the pods: a drain evicts them before their replacements are available"
	case len(budgets) > 1:
		var names []string
		for _, covering := range budgets {
			names = append(names, covering.Name)
		}
		finding.Says = fmt.Sprintf("PodDisruptionBudgets %s cover the same pods, and the API server evicts none of them: drains do not end", strings.Join(names, " and "))
		finding.Advice = "delete all but one, or change their selectors"
	default:
		return judgeSingleBudget(f, budgets[0].Name, budget.BlocksForEver(budgets[0], f.Manager)), true
	}
	return finding, true
}

// judgeSingleBudget judges the only PodDisruptionBudget that covers the pods. blocks is the reason why the budget never lets the last pod of a node
// be evicted. It is empty if there is no such reason.
func judgeSingleBudget(f Facts, name, blocks string) Finding {
	finding := Finding{Check: "Budget", Result: OK, Says: fmt.Sprintf("PodDisruptionBudget %s covers the pods", name)}
	if blocks == "" {
		return finding
	}
	finding.Result, finding.Says = Warning, fmt.Sprintf("PodDisruptionBudget %s never lets a pod be evicted: %s; drains do not end", name, blocks)
	rules := f.Manager.Spec.Disruption
	switch {
	case budget.Replaces(f.Manager):
		finding.Advice = fmt.Sprintf("lower minAvailable to %d", f.Manager.DesiredReplicas())
	case rules != nil && rules.OnDrain == v1.ReplaceDrain:
		finding.Says += ", since Recreate and TerminationComplete never let a replacement run beside its pod"
		finding.Advice = "allow one pod to be unavailable"
	default:
		finding.Advice = "set disruption.onDrain: Replace, or allow one pod to be unavailable"
	}
	return finding
}
