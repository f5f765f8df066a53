package policy

import (
	"errors"
	"os"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

type (
	policy  = admissionregistrationv1.ValidatingAdmissionPolicy
	binding = admissionregistrationv1.ValidatingAdmissionPolicyBinding
)

// shipped returns the policies and bindings of artifacts/policy.yaml.
func shipped(t *testing.T) ([]policy, []binding) {
	t.Helper()
	data, err := os.ReadFile("../../artifacts/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var policies []policy
	var bindings []binding
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var p policy
		var b binding
		if err := errors.Join(yaml.Unmarshal([]byte(document), &p), yaml.Unmarshal([]byte(document), &b)); err != nil {
			t.Fatal(err)
		}
		if b.Kind == "ValidatingAdmissionPolicyBinding" {
			bindings = append(bindings, b)
		} else {
			policies = append(policies, p)
		}
	}
	return policies, bindings
}

// The shipped rules are in force under any prefix, and each way to break one is detected.
func TestRulesIn(t *testing.T) {
	tests := map[string]struct {
		change func(*policy, *binding)
		want   string // for pod-rights; revision-rights is always in force
	}{
		"as shipped": {func(*policy, *binding) {}, ""},
		"another prefix": {func(p *policy, b *binding) {
			p.Name, b.Name, b.Spec.PolicyName = "second-pod-rights", "second-pod-rights", "second-pod-rights"
		}, ""},
		"no policy": {func(p *policy, _ *binding) {
			p.Name = "something-else"
		}, "there is no ValidatingAdmissionPolicy podmanager-pod-rights"},
		"no binding": {func(_ *policy, b *binding) {
			b.Spec.PolicyName = "something-else"
		}, "no ValidatingAdmissionPolicyBinding refers to the policy podmanager-pod-rights"},
		"a binding that only warns": {func(_ *policy, b *binding) {
			b.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn, admissionregistrationv1.Audit}
		}, "the ValidatingAdmissionPolicyBinding podmanager-pod-rights has the actions [Warn Audit], but not Deny"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			policies, bindings := shipped(t)
			test.change(&policies[0], &bindings[0])
			rules := RulesIn(DefaultPrefix, policies, bindings)
			if len(rules) != 2 || rules[0].Missing != test.want || rules[1].Missing != "" {
				t.Errorf("got %+v", rules)
			}
			if (Describe(rules) == "") != (test.want == "") || !strings.Contains(Describe(rules), test.want) {
				t.Errorf("described as %q", Describe(rules))
			}
		})
	}
	if got := Describe(RulesIn(DefaultPrefix, nil, nil)); strings.Count(got, "; ") != len(Names)-1 || strings.Count(got, "so that users who may write PodManagers ") != 2 {
		t.Errorf("without policies and bindings, described as %q", got)
	}
}

// The names that the controller reads and the label that the plugin selects match the shipped rules.
func TestShipped(t *testing.T) {
	policies, bindings := shipped(t)
	selector, err := labels.Parse(Label)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range Names {
		if policies[i].Name != FullName(DefaultPrefix, name) || bindings[i].Name != policies[i].Name {
			t.Errorf("the policy %s has the binding %s, want both to be %s", policies[i].Name, bindings[i].Name, FullName(DefaultPrefix, name))
		}
		if !selector.Matches(labels.Set(policies[i].Labels)) || !selector.Matches(labels.Set(bindings[i].Labels)) {
			t.Errorf("%s does not select %s", Label, policies[i].Name)
		}
	}
}
