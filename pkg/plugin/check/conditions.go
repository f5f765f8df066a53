package check

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// judgeConditions returns a finding for each condition with which the controller asks the user to act. It never reports a failure: what is stalled
// may be a rollout that was stopped on purpose.
func judgeConditions(f Facts) []Finding {
	var findings []Finding
	for _, kind := range []string{v1.ConditionStalled, v1.ConditionMisconfigured} {
		condition := meta.FindStatusCondition(f.Manager.Status.Conditions, kind)
		if condition == nil || condition.Status != metav1.ConditionTrue {
			continue
		}
		findings = append(findings, Finding{Check: kind, Result: Warning, Says: condition.Reason + ": " + condition.Message,
			Advice: text.Hint(f.Manager.Namespace, "why", f.Manager.Name)})
	}
	return findings
}
