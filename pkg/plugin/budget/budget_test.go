package budget_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/budget"
)

// least and most return budgets with minAvailable and maxUnavailable for the pods of web.
func least(value string) policyv1.PodDisruptionBudget {
	floor := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "floor"}}
	floor.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelManager: "web"}}
	floor.Spec.MinAvailable = ptr.To(intstr.Parse(value))
	return floor
}

func most(value string) policyv1.PodDisruptionBudget {
	floor := least("0")
	floor.Spec.MinAvailable, floor.Spec.MaxUnavailable = nil, ptr.To(intstr.Parse(value))
	return floor
}

func replaced(m *v1.PodManager) { m.Spec.Disruption = &v1.Disruption{OnDrain: v1.ReplaceDrain} }

func TestCovering(t *testing.T) {
	all, none := least("1"), least("1")
	all.Spec.Selector, none.Spec.Selector = &metav1.LabelSelector{}, nil
	other := least("1")
	other.Spec.Selector.MatchLabels[v1.LabelManager] = "api"
	for name, test := range map[string]struct {
		budget policyv1.PodDisruptionBudget
		want   int
	}{"its own": {least("1"), 1}, "of all pods": {all, 1}, "of no pods": {none, 0}, "another's": {other, 0}} {
		if got := budget.Covering(Manager(3), []policyv1.PodDisruptionBudget{test.budget}); len(got) != test.want {
			t.Errorf("%s: %d budgets cover the pods, want %d", name, len(got), test.want)
		}
	}
}

func TestBlocksForEver(t *testing.T) {
	complete := func(m *v1.PodManager) { replaced(m); m.Spec.PodReplacementPolicy = v1.TerminationComplete }
	plain := func(*v1.PodManager) {}
	for name, test := range map[string]struct {
		budget   policyv1.PodDisruptionBudget
		replicas int32
		change   func(*v1.PodManager)
		want     string
	}{
		"one may be missing":              {least("2"), 3, plain, ""},
		"none may be missing":             {least("3"), 3, plain, "it needs 3 healthy pods, and has 3"},
		"none may be missing, a share":    {least("100%"), 3, plain, "it needs 3"},
		"a share is rounded up":           {least("70%"), 3, plain, "it needs 3"},
		"maxUnavailable 0":                {most("0"), 3, plain, "it needs 3"},
		"maxUnavailable 0 %":              {most("0%"), 3, plain, "it needs 3"},
		"maxUnavailable 1 %":              {most("1%"), 3, plain, ""},
		"with a replacement":              {most("0"), 3, replaced, ""},
		"more than there are":             {least("4"), 3, replaced, "it needs 4 healthy pods, and with a replacement has 4"},
		"a share, with a replacement":     {least("100%"), 3, replaced, ""},
		"never two at once":               {most("0"), 1, complete, "it needs 1 healthy pod, and has 1"},
		"never two at once, Recreate":     {least("1"), 1, func(m *v1.PodManager) { replaced(m); Strategy(v1.RecreateStrategy)(m) }, "it needs 1"},
		"no pods":                         {least("1"), 0, plain, ""},
		"more may be missing than are":    {most("5"), 3, plain, ""},
		"the default of an empty budget":  {policyv1.PodDisruptionBudget{}, 3, plain, ""},
		"one of one may be missing":       {most("1"), 1, plain, ""},
		"all of one, but replaced before": {least("1"), 1, replaced, ""},
	} {
		if got := budget.BlocksForEver(&test.budget, Manager(test.replicas, test.change)); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestRefusal(t *testing.T) {
	always := most("0")
	always.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	notReady, pending, ending := Pod(0, NotReady), Pod(0, Phase(corev1.PodPending)), Pod(1, Terminating)
	for name, test := range map[string]struct {
		budgets []policyv1.PodDisruptionBudget
		pod     *corev1.Pod
		others  []*corev1.Pod
		want    string
	}{
		"no budget":                       {nil, Pod(0), nil, ""},
		"the only one":                    {[]policyv1.PodDisruptionBudget{least("1")}, Pod(0), nil, "PodDisruptionBudget floor needs 1 healthy pod and has 1"},
		"beside its replacement":          {[]policyv1.PodDisruptionBudget{least("1")}, Pod(0), []*corev1.Pod{Pod(1)}, ""},
		"its replacement is not ready":    {[]policyv1.PodDisruptionBudget{least("1")}, Pod(0), []*corev1.Pod{Pod(1, NotReady)}, "PodDisruptionBudget floor needs 1"},
		"beside one that terminates":      {[]policyv1.PodDisruptionBudget{least("1")}, Pod(0), []*corev1.Pod{ending}, "PodDisruptionBudget floor needs 1"},
		"maxUnavailable 0":                {[]policyv1.PodDisruptionBudget{most("0")}, Pod(0), []*corev1.Pod{Pod(1)}, "PodDisruptionBudget floor needs 2 healthy pods and has 2"},
		"not ready, too few are":          {[]policyv1.PodDisruptionBudget{most("0")}, notReady, []*corev1.Pod{Pod(1)}, "PodDisruptionBudget floor needs 2 healthy pods and has 1"},
		"not ready, enough are":           {[]policyv1.PodDisruptionBudget{least("1")}, notReady, []*corev1.Pod{Pod(1)}, ""},
		"not ready, always allowed":       {[]policyv1.PodDisruptionBudget{always}, notReady, []*corev1.Pod{Pod(1)}, ""},
		"pending":                         {[]policyv1.PodDisruptionBudget{most("0")}, pending, []*corev1.Pod{Pod(1)}, ""},
		"finished":                        {[]policyv1.PodDisruptionBudget{most("0")}, Pod(0, Phase(corev1.PodFailed)), []*corev1.Pod{Pod(1)}, ""},
		"two budgets, though both let it": {[]policyv1.PodDisruptionBudget{least("0"), least("0")}, Pod(0), nil, "more than one PodDisruptionBudget covers it"},
	} {
		got := budget.Refusal(budget.Covering(Manager(2), test.budgets), 2, test.pod, test.others)
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
