//go:build e2e

package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

const valuesFolder = "hack/test/chart/testdata/values"

// Each value file is rendered. The result contains what the file enables, lacks what it disables, and the API server accepts all objects in a dry
// run.
func TestValues(t *testing.T) {
	kubectl(t, "", "apply", "-f", "hack/test/chart/testdata/operator-crds.yaml")
	kubectl(t, "", "apply", "-f", "hack/test/chart/testdata/cert-manager-crds.yaml")
	t.Cleanup(func() {
		kubectlQuietly("delete", "crd", "servicemonitors.monitoring.coreos.com", "prometheusrules.monitoring.coreos.com",
			"certificates.cert-manager.io", "issuers.cert-manager.io")
	})
	for _, namespace := range []string{"chart-team-a", "chart-team-b"} {
		kubectlQuietly("create", "namespace", namespace)
		t.Cleanup(func() { kubectlQuietly("delete", "namespace", namespace, "--wait=false") })
	}
	tests := map[string]struct{ has, lacks []string }{
		"minimal": {
			has: []string{"replicas: 1\n", "kind: ClusterRoleBinding", "cpu: 10m", "-resize-and-drain=false"},
			lacks: []string{"CustomResourceDefinition", "PodDisruptionBudget", "ResourceQuota", "topologySpread", "priorityClassName", "GOMEMLIMIT",
				"pods/status", "pods/resize", "leases", "-leader-elect", "-v=", "-edit\n", "memory:",
				"NetworkPolicy", "-metrics-secure", "8443", "tokenreviews", "AdmissionPolicy", "PrometheusRule", "grafana"},
		},
		"everything": {
			has: []string{`image: "registry.example.com:5000/team/podmanager:v1.2.3"`, "value: 1382MiB", `"-workers=2000000"`, `"-kube-api-qps=12.5"`,
				`"-kube-api-burst=1000000"`, `"-selector=team in (a, b),!legacy"`, "maxUnavailable: 50%", "values: [system-node-critical]", "a: b", "name: registry\n",
				"-metrics-cert-dir=/etc/podmanager/metrics", "mountPath: /etc/podmanager/metrics", "secretName: metrics-tls", "port: 7443\n", "metadata.name: monitoring"},
			lacks: []string{"topology.kubernetes.io/zone", "port: 6443", "resource-name=", "-resize-and-drain", "shards", "POD_TEMPLATE_HASH"},
		},
		"namespaces": {
			has:   []string{"-resize-and-drain=false", "-namespace=chart-team-a", "-namespace=chart-team-b", "namespace: chart-team-a", "namespace: chart-team-b", "kind: RoleBinding"},
			lacks: []string{"ClusterRole", "CustomResourceDefinition", "ResourceQuota", "pods/status", "pods/resize", "AdmissionPolicy"},
		},
		"shards": {
			has: []string{"replicas: 3\n", "-shards=16\n", "name: POD_TEMPLATE_HASH", "fieldPath: metadata.labels['pod-template-hash']", "-leader-elect-resource-name=second-controller",
				"kind: Role\nmetadata:\n  name: second-controller-shards\n  namespace: podmanager-system\n", "resources: [leases]\n    verbs: [get, list,", "-namespace=chart-team-a"},
			lacks: []string{"ClusterRole", "-controller-shards\n  namespace: chart-team-a"},
		},
		"digest": {
			has:   []string{`image: "registry.example.com/podmanager@sha256:0123456789abcdef`, "kind: CustomResourceDefinition", `apps.mycompany.com/allow-deletion: "true"`},
			lacks: []string{"resource-policy", "podmanager:v"},
		},
		"monitoring": {has: []string{"kind: ServiceMonitor", "interval: 30s", "release: prometheus", "clusterIP: None", "scheme: https",
			"path: /metrics/objects", "insecureSkipVerify: true", "bearerTokenFile:", "kind: PrometheusRule", "role: alerts", "alert: PodManagerStalled",
			"{{ $labels.podmanager }}", "name: podmanager-dashboard", `grafana_dashboard: "1"`, "grafana_folder: Operators", `"uid": "podmanager"`},
			lacks: []string{"runbook_url", "Shards by replica"}},
		"own-account": {has: []string{"serviceAccountName: of.somebody", "resource-policy: keep"}, lacks: []string{"kind: ServiceAccount", "Role", "allow-deletion: "}},
		"names": {
			has:   []string{"name: second-controller\n", "name: second-edit", "-leader-elect-resource-name=second-controller", "resourceNames: [second-controller]", "policyName: second-pod-rights\n", "-policy-name=second\n", "resourceNames: [second-pod-rights, second-revision-rights]", "name: 'podmanager-plain'", "name: second-text"},
			lacks: []string{"name: podmanager-controller"},
		},
		"pods": {
			has: []string{"- name: GOGC\n              value: \"50\"\n", "value: 300MiB", "mountPath: /tmp\n", "mountPath: /etc/podmanager/metrics\n", "sizeLimit: 10Mi", "secretName: metrics-tls",
				"runAsUser: 1000650000\n", "fsGroup: 2000\n", "runAsNonRoot: true\n", "privileged: false\n", "drop:\n              - ALL\n", "type: RuntimeDefault\n",
				"path: /livez\n              port: health\n            failureThreshold: 6\n            initialDelaySeconds: 60\n            periodSeconds: 10\n            terminationGracePeriodSeconds: 10\n            timeoutSeconds: 5\n",
				"path: /readyz\n              port: health\n            periodSeconds: 2\n            successThreshold: 3\n            timeoutSeconds: 5\n"},
			lacks: []string{"runAsGroup: 65532", "460MiB", "hostNetwork: true", "dnsPolicy: Cluster"},
		},
		"webhook": {
			has: []string{"-webhook-bind-address=:9443", "-webhook-name=second\n", `"-webhook-cert-lifetime=720h"`, "failurePolicy: Fail", "timeoutSeconds: 10",
				"kind: ValidatingWebhookConfiguration\nmetadata:\n  name: second\n", "name: second-webhook\n", "resourceNames: [second-webhook]", "resourceNames: [second]",
				"- port: webhook\n      from:\n        - ipBlock:\n            cidr: 10.1.2.0/24", "containerPort: 9443", "resources: [secrets]",
				"-webhook-client-ca-file=/etc/podmanager/webhook-client/ca.crt\n", "mountPath: /etc/podmanager/webhook-client\n", "configMap:\n            name: api-servers"},
			lacks: []string{"cert-manager", "-webhook-cert-dir", "webhook-certificate"},
		},
		"webhook-deployment": {
			has: []string{"-serve=webhook\n", "-webhook-bind-address=:9443", "-webhook-name=second\n", `"-selector=team=a"`, `"-webhook-cert-lifetime=720h"`, "-webhook-host=example.com",
				"kind: Deployment\nmetadata:\n  name: second-webhook\n", "replicas: 3\n", "value: 230MiB", "serviceAccountName: hooks\n", "kind: ServiceAccount\nmetadata:\n  name: hooks\n",
				"kind: PodDisruptionBudget\nmetadata:\n  name: second-webhook\n", "kind: NetworkPolicy\nmetadata:\n  name: second-webhook\n",
				"kind: ServiceMonitor\nmetadata:\n  name: second-webhook\n", "resources: [pods]\n    verbs: [create]\n", "name: second-webhook-trials\n",
				"'system:serviceaccount:podmanager-system:hooks'", "-webhook-client-ca-file=/etc/podmanager/webhook-client/ca.crt\n",
				"app.kubernetes.io/component: webhook\n  ports:\n    - name: webhook\n", "-leader-elect-resource-name=second-controller", "path: /metrics/objects\n"},
			lacks: []string{"-webhook-cert-dir"},
		},
		"cert-manager": {
			has: []string{"-webhook-bind-address=:9443", "-webhook-cert-dir=/etc/podmanager/webhook", "mountPath: /etc/podmanager/webhook", "secretName: podmanager-webhook-tls",
				"cert-manager.io/inject-ca-from: podmanager-system/podmanager-webhook", "kind: Certificate", "podmanager-webhook.podmanager-system.svc", "kind: ClusterIssuer",
				"mountPath: /etc/podmanager/metrics", "secretName: metrics-tls", "ca:\n          secret:\n            name: metrics-tls\n            key: ca.crt\n",
				"serverName: podmanager-metrics.podmanager-system.svc", "-webhook-client-ca-file=/etc/podmanager/webhook-client/client.crt\n", "secretName: api-server\n", "- port: webhook\n  egress:"},
			lacks: []string{"kind: Issuer", "resources: [secrets]", "-webhook-cert-lifetime", "insecureSkipVerify"},
		},
	}
	files, err := filepath.Glob(valuesFolder + "/*.yaml")
	if err != nil || len(files) != len(tests) {
		t.Errorf("%d value files, %d tests: %v", len(files), len(tests), err)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rendered := render(t, name)
			for _, part := range test.has {
				if !strings.Contains(rendered, part) {
					t.Errorf("what is rendered lacks %q", part)
				}
			}
			for _, part := range test.lacks {
				if strings.Contains(rendered, part) {
					t.Errorf("what is rendered has %q", part)
				}
			}
			out := kubectl(t, rendered, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-")
			for line := range strings.Lines(out) {
				// A violation of the namespace's Pod Security level would be such a warning. It does not matter here that kubectl cannot take
				// over the CRD, which another field manager has applied.
				if strings.HasPrefix(line, "Warning") && !strings.Contains(line, "failed to migrate") {
					t.Error(line)
				}
			}
		})
	}
}

func kubectlQuietly(arguments ...string) {
	_ = exec.Command("kubectl", arguments...).Run()
}

// render renders the chart with a value file and more arguments, as a release with the usual name.
func render(t *testing.T, values string, more ...string) string {
	t.Helper()
	arguments := []string{"template", "podmanager", shared.chart, withImage, "--namespace", systemSpace, "--values", filepath.Join(valuesFolder, values+".yaml")}
	return helm(t, append(arguments, more...)...)
}

// The chart has a value for every flag of the controller, except for those that a Deployment does not need, and the controller accepts them all.
func TestFlags(t *testing.T) {
	program := filepath.Join(shared.cluster.Programs, "controller")
	help, err := exec.CommandContext(t.Context(), program, "-help").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, help)
	}
	// Flags for the connection, and flags that the chart sets itself: the health address, the Lease, the pod's own namespace, the Service, and
	// the namespaces, which are a separate value.
	expected := []string{"kubeconfig", "master", "version", "health-probe-bind-address", "namespace",
		"leader-elect-resource-namespace", "leader-elect-resource-name", "webhook-namespace", "webhook-host"}
	// No single value file can use both sources of certificates, or have all permissions as well as the flag for a controller that lacks some.
	var all [][]string
	for _, values := range []string{"everything", "minimal", "webhook", "webhook-deployment", "cert-manager", "shards"} {
		all = append(all, deploymentArguments(t, render(t, values))...)
	}
	for _, argument := range slices.Concat(all...) {
		name, _, _ := strings.Cut(strings.TrimPrefix(argument, "-"), "=")
		expected = append(expected, name)
	}
	slices.Sort(expected)
	expected = slices.Compact(expected)
	var flags []string
	for _, match := range regexp.MustCompile(`(?m)^  -([\w-]+)`).FindAllStringSubmatch(string(help), -1) {
		flags = append(flags, match[1])
	}
	slices.Sort(flags)
	flags = slices.DeleteFunc(flags, func(name string) bool { return name == "help" })
	if !slices.Equal(flags, expected) {
		t.Errorf("the controller has the flags\n%q, the chart knows\n%q", flags, expected)
	}
	// The controller accepts all arguments, so the only error is the kubeconfig.
	for _, arguments := range all {
		command := exec.CommandContext(t.Context(), program, append(arguments, "-kubeconfig=/no/such/file")...)
		command.Env = append(os.Environ(), "POD_NAMESPACE=a")
		out, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "/no/such/file") {
			t.Errorf("the controller refuses %q: %v\n%s", arguments, err, out)
		}
	}
}

// deploymentArguments returns the arguments of each Deployment in a rendered chart.
func deploymentArguments(t *testing.T, rendered string) (all [][]string) {
	t.Helper()
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		var deployment appsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &deployment); err == nil && deployment.Kind == "Deployment" {
			all = append(all, deployment.Spec.Template.Spec.Containers[0].Args)
		}
	}
	if len(all) == 0 {
		t.Fatal("there is no Deployment")
	}
	return all
}

// A parent chart uses this one as a dependency, with a condition and with global values.
func TestSubchart(t *testing.T) {
	parent := t.TempDir()
	for file, content := range map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: parent\nversion: 0.0.1\ndependencies: [{name: podmanager, version: 1.0.0, condition: podmanager.enabled}]\n",
		"values.yaml": "global: {registry: example.com}\npodmanager: {enabled: true, replicaCount: 5, image: {repository: registry.example.com/podmanager}}\n",
	} {
		if err := os.WriteFile(filepath.Join(parent, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.ReadFile(shared.chart)
	if err == nil {
		err = os.Mkdir(filepath.Join(parent, "charts"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(parent, "charts", filepath.Base(shared.chart)), archive, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := helm(t, "template", "app", parent, "--namespace", systemSpace); !strings.Contains(out, "replicas: 5\n") || !strings.Contains(out, "name: app-podmanager-controller\n") {
		t.Errorf("the parent's values have no effect:\n%s", out)
	}
	if out := helm(t, "template", "app", parent, "--set", "podmanager.enabled=false"); strings.Contains(out, "kind:") {
		t.Errorf("the condition has no effect:\n%s", out)
	}
}
