package check

import "github.com/mycompany/podmanager/pkg/policy"

// judgePolicy checks whether users can gain permissions through PodManagers. It never reports a failure: everything works without the policy, and
// a cluster whose users trust each other may not need it. Most users may not read policies.
func judgePolicy(f Facts) Finding {
	finding := Finding{Check: "Policy", Result: OK, Says: "only users who may create pods can create pods through PodManagers"}
	if f.RulesError != nil {
		finding.Result, finding.Says = Unknown, "whether the rules of artifacts/policy.yaml are in force is not known: "+f.RulesError.Error()
		finding.Advice = "ask an administrator of the cluster, who may read ValidatingAdmissionPolicies and their bindings"
		return finding
	}
	if missing := policy.Describe(f.Rules); missing != "" {
		finding.Result, finding.Says, finding.Advice = Warning, missing, policy.Apply
	}
	return finding
}
