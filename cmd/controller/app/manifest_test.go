package app

import (
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/pkg/policy"
)

// readManifest reads the first object of a file.
func readManifest(t *testing.T, file string, object any) {
	t.Helper()
	data, err := os.ReadFile("../../../artifacts/" + file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(data), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(first), object); err != nil {
		t.Fatal(err)
	}
}

// The Deployment's flags are valid, its metrics are secure, and its ports match the flags.
func TestDeploymentFlags(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "podmanager-system")
	var deployment appsv1.Deployment
	readManifest(t, "deployment.yaml", &deployment)
	container := deployment.Spec.Template.Spec.Containers[0]
	options := NewOptions()
	if err := options.Parse(container.Args); err != nil {
		t.Fatal(err)
	}
	if err := options.Validate(); err != nil {
		t.Fatal(err)
	}
	if !options.MetricsSecure {
		t.Error("every client may read the metrics: -metrics-secure is missing")
	}
	want := map[string]string{}
	for name, address := range map[string]string{"metrics": options.MetricsAddress, "health": options.HealthAddress} {
		if _, want[name], _ = net.SplitHostPort(address); want[name] == "" {
			t.Errorf("the address of %s has no port: %q", name, address)
		}
	}
	got := map[string]string{}
	for _, port := range container.Ports {
		got[port.Name] = fmt.Sprint(port.ContainerPort)
	}
	if !maps.Equal(got, want) {
		t.Errorf("the container has the ports %v, the flags have the ports %v", got, want)
	}
}

// The NetworkPolicy selects the Deployment's pods. It allows ingress only to their ports, and egress only to DNS and the API server.
func TestNetworkPolicy(t *testing.T) {
	var deployment appsv1.Deployment
	readManifest(t, "deployment.yaml", &deployment)
	var policy networkingv1.NetworkPolicy
	readManifest(t, "networkpolicy.yaml", &policy)
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	if selector.Empty() || !selector.Matches(labels.Set(deployment.Spec.Template.Labels)) || policy.Namespace != deployment.Namespace {
		t.Errorf("the NetworkPolicy selects %v in namespace %s, want the pods of the Deployment", selector, policy.Namespace)
	}
	if !slices.Equal(policy.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}) {
		t.Errorf("the NetworkPolicy has the types %v, want Ingress and Egress", policy.Spec.PolicyTypes)
	}
	var in, out, ports []string
	for _, rule := range policy.Spec.Ingress {
		if len(rule.Ports) == 0 {
			t.Error("an ingress rule allows all ports")
		}
		for _, port := range rule.Ports {
			in = append(in, port.Port.String())
		}
	}
	for _, rule := range policy.Spec.Egress {
		if len(rule.Ports) == 0 {
			t.Error("an egress rule allows all ports")
		}
		for _, port := range rule.Ports {
			out = append(out, port.Port.String())
		}
	}
	for _, port := range deployment.Spec.Template.Spec.Containers[0].Ports {
		ports = append(ports, port.Name)
	}
	if slices.Sort(in); !slices.Equal(in, slices.Sorted(slices.Values(ports))) {
		t.Errorf("the NetworkPolicy allows ingress to the ports %v, the container has the ports %v", in, ports)
	}
	if slices.Sort(out); !slices.Equal(out, []string{"16443", "443", "53", "53", "6443", "8443"}) {
		t.Errorf("the NetworkPolicy allows egress to the ports %v, want those of DNS and the API server", out)
	}
}

// The webhook manifests match the flags: their names, their port, and the rights that they need.
func TestWebhookManifests(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "podmanager-system")
	names := NewOptions().Config().Webhook.Certificates
	var service corev1.Service
	readManifest(t, "webhook/service.yaml", &service)
	if service.Name != names.Service || service.Namespace != names.Namespace {
		t.Errorf("the Service is %s/%s, but the certificate is for the Service %s/%s", service.Namespace, service.Name, names.Namespace, names.Service)
	}
	var deployment appsv1.Deployment
	readManifest(t, "deployment.yaml", &deployment)
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(deployment.Spec.Template.Labels)) {
		t.Errorf("the Service selects %v, which does not match the pods of the Deployment", service.Spec.Selector)
	}
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	readManifest(t, "webhook/configuration.yaml", &configuration)
	if configuration.Name != names.Configuration {
		t.Errorf("the configuration is named %s, but the controller writes the CA to %s", configuration.Name, names.Configuration)
	}
	for _, webhook := range configuration.Webhooks {
		if called := webhook.ClientConfig.Service; called == nil || called.Name != service.Name || called.Namespace != service.Namespace || *called.Port != service.Spec.Ports[0].Port {
			t.Errorf("the webhook %s calls the service %v, want the one of service.yaml", webhook.Name, called)
		}
		if *webhook.FailurePolicy != admissionregistrationv1.Ignore {
			t.Errorf("the webhook %s refuses requests when the controller does not answer, want failurePolicy Ignore", webhook.Name)
		}
	}
	var role rbacv1.Role
	readManifest(t, "webhook/rbac.yaml", &role)
	for _, rule := range role.Rules {
		if !slices.Equal(rule.Verbs, []string{"create"}) && !slices.Equal(rule.ResourceNames, []string{names.Secret}) {
			t.Errorf("the controller may %v %v with the names %v, want rights to the Secret alone", rule.Verbs, rule.Resources, rule.ResourceNames)
		}
	}
}

// The controller may get the rules that it reads, and no others.
func TestPolicyRights(t *testing.T) {
	data, err := os.ReadFile("../../../artifacts/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range policy.Names {
		want = append(want, policy.FullName(NewOptions().PolicyName, name))
	}
	found := 0
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			if !slices.Contains(rule.APIGroups, admissionregistrationv1.GroupName) {
				continue
			}
			found++
			if role.Name != programName || !slices.Equal(rule.ResourceNames, want) || !slices.Equal(rule.Verbs, []string{"get"}) ||
				!slices.Equal(rule.Resources, []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"}) {
				t.Errorf("%s may %v %v with the names %v, want only get on the policies and bindings with the names %v",
					role.Name, rule.Verbs, rule.Resources, rule.ResourceNames, want)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d rules of rbac.yaml are about policies, want one", found)
	}
}
