package policy

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// Apply is the command that puts the rules in force.
const Apply = "kubectl apply -f artifacts/policy.yaml"

// DefaultPrefix is what the names of the rules in artifacts/policy.yaml begin with. The chart may use another one.
const DefaultPrefix = "podmanager"

// Label selects the rules, whatever their names begin with.
const Label = "app.kubernetes.io/name=podmanager"

// Names are what the names of the rules end with, after the prefix and a dash. The rule against deleting the CRD is not among them: it
// guards against a mistake.
var Names = []string{"pod-rights", "revision-rights"}

// effects are what is possible while a rule is not in force.
var effects = map[string]string{
	"pod-rights":      "who may write PodManagers can have pods made without a right to pods",
	"revision-rights": "who may write PodManagers and ControllerRevisions can have pods made without a right to pods",
}

// Rule is one of the rules, as it was found.
type Rule struct {
	// Name is one of Names.
	Name string
	// Missing says why the rule is not in force; it is empty if the rule is.
	Missing string
}

// Effect is what is possible while the rule is not in force.
func (r Rule) Effect() string { return effects[r.Name] }

// FullName is the name of a rule's policy, and of its binding.
func FullName(prefix, name string) string { return prefix + "-" + name }

// Judge judges the rules by the policies and bindings that were found. A rule is in force if a policy of its name, with any prefix, has a
// binding that denies. prefix is for the name of a policy that was not found.
func Judge(prefix string, policies []admissionregistrationv1.ValidatingAdmissionPolicy, bindings []admissionregistrationv1.ValidatingAdmissionPolicyBinding) []Rule {
	var rules []Rule
	for _, name := range Names {
		rule := Rule{Name: name, Missing: fmt.Sprintf("there is no ValidatingAdmissionPolicy %s", FullName(prefix, name))}
		for _, policy := range policies {
			if !strings.HasSuffix(policy.Name, "-"+name) {
				continue
			}
			if rule.Missing = bindingMissing(policy.Name, bindings); rule.Missing == "" {
				break
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

// bindingMissing says why no binding puts a policy in force; it is empty if one does.
func bindingMissing(policy string, bindings []admissionregistrationv1.ValidatingAdmissionPolicyBinding) string {
	missing := fmt.Sprintf("no ValidatingAdmissionPolicyBinding is for the policy %s", policy)
	for _, binding := range bindings {
		if binding.Spec.PolicyName != policy {
			continue
		}
		if slices.Contains(binding.Spec.ValidationActions, admissionregistrationv1.Deny) {
			return ""
		}
		missing = fmt.Sprintf("the ValidatingAdmissionPolicyBinding %s has the actions %v, and not Deny", binding.Name, binding.Spec.ValidationActions)
	}
	return missing
}

// Describe says which rules are not in force, and what that makes possible; it is empty if all are in force.
func Describe(rules []Rule) string {
	var parts []string
	for _, rule := range rules {
		if rule.Missing != "" {
			parts = append(parts, rule.Missing+", so that "+rule.Effect())
		}
	}
	return strings.Join(parts, "; ")
}
