package check_test

import (
	"errors"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plugin/check"
)

func TestBudget(t *testing.T) {
	replaces := func(f *Facts) { f.Manager.Spec.Disruption = &v1.Disruption{OnDrain: v1.ReplaceDrain} }
	byVPA := func(f *Facts) { f.VPA = "sizes" }
	covers := func(key, value, least string) func(*Facts) {
		return func(f *Facts) {
			budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "floor"}}
			budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
			budget.Spec.MinAvailable = ptr.To(intstr.Parse(least))
			f.Budgets = append(f.Budgets, budget)
		}
	}
	waits := func(f *Facts) { f.Manager.Spec.PodReplacementPolicy = v1.TerminationComplete }
	tests := map[string]struct {
		changes      []func(*Facts)
		result, says string
	}{
		"nothing asks for one": {},
		"a drain, no budget":   {[]func(*Facts){replaces}, Warning, "no PodDisruptionBudget covers the pods"},
		"a drain, another's":   {[]func(*Facts){replaces, covers("podmanager", "other", "1")}, Warning, "no PodDisruptionBudget covers the pods"},
		"a drain, a budget":    {[]func(*Facts){replaces, covers("podmanager", "web", "3")}, OK, "floor covers the pods"},
		"by the default label": {[]func(*Facts){replaces, covers("app", "web", "1")}, OK, "floor covers the pods"},
		"VPA, no budget":       {[]func(*Facts){byVPA}, Warning, "sizes may evict all pods at once"},
		"VPA, a budget":        {[]func(*Facts){byVPA, covers("podmanager", "web", "2")}, OK, "floor covers the pods"},
		"VPA, it blocks":       {[]func(*Facts){byVPA, covers("podmanager", "web", "100%")}, Warning, "drains do not end"},
		"it blocks":            {[]func(*Facts){covers("podmanager", "web", "3")}, Warning, "it needs 3 healthy pods, and has 3; drains do not end"},
		"it lets one go":       {[]func(*Facts){covers("podmanager", "web", "2")}, OK, "floor covers the pods"},
		"a drain, too many":    {[]func(*Facts){replaces, covers("podmanager", "web", "4")}, Warning, "it needs 4 healthy pods, and with a replacement has 4"},
		"a drain, never two":   {[]func(*Facts){replaces, waits, covers("podmanager", "web", "3")}, Warning, "never let a replacement run beside its pod"},
		"two budgets":          {[]func(*Facts){covers("podmanager", "web", "1"), covers("app", "web", "1")}, Warning, "floor and floor cover the same pods"},
		"they cannot be read":  {[]func(*Facts){replaces, func(f *Facts) { f.BudgetsError = errors.New("forbidden") }}, Unknown, "forbidden"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, says := "", ""
			for _, finding := range FindingsIn(facts(test.changes...)) {
				if finding.Check == "Budget" {
					result, says = finding.Result, finding.Says
				}
			}
			if result != test.result || !strings.Contains(says, test.says) {
				t.Errorf("%s: %s, want %s: %s", result, says, test.result, test.says)
			}
		})
	}
}
