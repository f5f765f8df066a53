package policy

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// Apply is the command that puts the rules in force.
const Apply = "kubectl apply -f artifacts/policy.yaml"

// DefaultPrefix is the prefix of the rules' names in artifacts/policy.yaml. The chart may use another prefix.
const DefaultPrefix = "podmanager"

// Label selects the rules, whatever their prefix is.
const Label = "app.kubernetes.io/name=podmanager"

// Names are the names of the rules without prefix and dash. The rule against deleting the CRD is not among them, because it only guards
// against a mistake.
var Names = []string{"pod-rights", "revision-rights"}

// effects describes what users can do while a rule is not in force.
var effects = map[string]string{
	"pod-rights":      "users who may write PodManagers can create pods without the right to create pods",
	"revision-rights": "users who may write PodManagers and ControllerRevisions can create pods without the right to create pods",
}

// Rule is the state of one of the rules.
type Rule struct {
	// Name is one of Names.
	Name string
	// Missing is why the rule is not in force. It is empty if the rule is in force.
	Missing string
}

// Effect returns what users can do while the rule is not in force.
func (r Rule) Effect() string { return effects[r.Name] }

// FullName returns the name of a rule's policy, which is also the name of its binding.
func FullName(prefix, name string) string { return prefix + "-" + name }

// RulesIn returns the state of the rules, given the policies and bindings of the cluster. A rule is in force if a policy with its name, under
// any prefix, has a binding that denies. prefix completes the name of a policy that was not found.
func RulesIn(prefix string, policies []admissionregistrationv1.ValidatingAdmissionPolicy, bindings []admissionregistrationv1.ValidatingAdmissionPolicyBinding) []Rule {
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

// bindingMissing returns why no binding puts a policy in force. It is empty if one does.
func bindingMissing(policy string, bindings []admissionregistrationv1.ValidatingAdmissionPolicyBinding) string {
	missing := fmt.Sprintf("no ValidatingAdmissionPolicyBinding refers to the policy %s", policy)
	for _, binding := range bindings {
		if binding.Spec.PolicyName != policy {
			continue
		}
		if slices.Contains(binding.Spec.ValidationActions, admissionregistrationv1.Deny) {
			return ""
		}
		missing = fmt.Sprintf("the ValidatingAdmissionPolicyBinding %s has the actions %v, but not Deny", binding.Name, binding.Spec.ValidationActions)
	}
	return missing
}

// Describe returns which rules are not in force, and what users can do as a result. It is empty if all rules are in force.
func Describe(rules []Rule) string {
	var parts []string
	for _, rule := range rules {
		if rule.Missing != "" {
			parts = append(parts, rule.Missing+", so that "+rule.Effect())
		}
	}
	return strings.Join(parts, "; ")
}
