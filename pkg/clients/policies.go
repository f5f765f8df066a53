package clients

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/policy"
)

// policyInterval is how often the rules are read. They rarely change, and nothing that the controller does depends on them.
const policyInterval = 5 * time.Minute

// askAdministrator says who can find out whether the rules are in force, if the controller cannot.
const askAdministrator = "an administrator of the cluster can check it with kubectl pm check"

// Policies checks periodically whether the rules of artifacts/policy.yaml are in force, so that an administrator learns if they are not.
type Policies struct {
	client  admissionregistrationclient.AdmissionregistrationV1Interface
	prefix  string
	warning atomic.Pointer[string]
	isKnown bool // whether the last result came from reading the rules
}

// NewPolicies returns Policies for rules whose names begin with prefix.
func NewPolicies(client admissionregistrationclient.AdmissionregistrationV1Interface, prefix string) *Policies {
	p := &Policies{client: client, prefix: prefix}
	p.warn("not checked yet")
	return p
}

// UnknownPolicies returns Policies for a controller that has rights in single namespaces only. It may not read the rules, so it does not try.
func UnknownPolicies() *Policies {
	p := &Policies{}
	p.warn("not known whether the policies are in force, since the controller has no rights outside its namespaces; " + askAdministrator)
	return p
}

// Run checks the rules until ctx is done.
func (p *Policies) Run(ctx context.Context) {
	if p == nil || p.client == nil {
		return
	}
	wait.JitterUntilWithContext(ctx, p.look, policyInterval, 0.2, true)
}

// Warning returns which rules are not in force, or why the controller does not know. It is empty if all rules are in force.
func (p *Policies) Warning() string { return *p.warning.Load() }

func (p *Policies) warn(text string) { p.warning.Store(&text) }

// look reads the rules once. If the API server does not let the controller read them, the result is unknown. Any other failed request says
// nothing about the rules, so the last result stays.
func (p *Policies) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	logger := klog.FromContext(ctx)
	rules, err := p.read(ctx)
	switch {
	case apierrors.IsForbidden(err):
		metrics.PolicyMissing.Reset()
		p.isKnown = false
		p.warn(fmt.Sprintf("not known whether the policies are in force: %v; %s", err, askAdministrator))
	case err != nil:
		logger.V(2).Info("Cannot read the ValidatingAdmissionPolicies of artifacts/policy.yaml, will try again", "err", err)
		if !p.isKnown {
			p.warn(fmt.Sprintf("not known yet whether the policies are in force: %v", err))
		}
	default:
		p.isKnown = true
		p.report(logger, rules)
	}
}

// report sets the metric and the warning. It logs changes only.
func (p *Policies) report(logger klog.Logger, rules []policy.Rule) {
	for _, rule := range rules {
		missing := 0.0
		if rule.Missing != "" {
			missing = 1
		}
		metrics.PolicyMissing.WithLabelValues(rule.Name).Set(missing)
	}
	warning := policy.Describe(rules)
	if warning != "" {
		warning += "; run " + policy.Apply + ", or helm upgrade if the chart installs the policies"
	}
	if warning != "" && warning != p.Warning() {
		logger.Info("Users can gain rights through PodManagers", "why", warning)
	}
	p.warn(warning)
}

// read gets each policy and its binding by name: the controller has no right to read others.
func (p *Policies) read(ctx context.Context) ([]policy.Rule, error) {
	var policies []admissionregistrationv1.ValidatingAdmissionPolicy
	var bindings []admissionregistrationv1.ValidatingAdmissionPolicyBinding
	for _, name := range policy.Names {
		name = policy.FullName(p.prefix, name)
		rule, ruleErr := p.client.ValidatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
		binding, bindingErr := p.client.ValidatingAdmissionPolicyBindings().Get(ctx, name, metav1.GetOptions{})
		if err := cmp.Or(unlessNotFound(ruleErr), unlessNotFound(bindingErr)); err != nil {
			return nil, err
		}
		if ruleErr == nil {
			policies = append(policies, *rule)
		}
		if bindingErr == nil {
			bindings = append(bindings, *binding)
		}
	}
	return policy.RulesIn(p.prefix, policies, bindings), nil
}

func unlessNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
