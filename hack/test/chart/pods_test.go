//go:build e2e

package chart

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/hack/test/harness/monitoring"
)

// objects returns the objects of a rendered chart.
func objects(t *testing.T, rendered string) (all []unstructured.Unstructured) {
	t.Helper()
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
	return all
}

// into converts the objects of a kind, and fails the test if there is none.
func into[T any](t *testing.T, all []unstructured.Unstructured, kind string) (found []T) {
	t.Helper()
	for _, object := range all {
		if object.GetKind() != kind {
			continue
		}
		var one T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &one); err != nil {
			t.Fatal(err)
		}
		found = append(found, one)
	}
	if len(found) == 0 {
		t.Fatalf("there is no %s", kind)
	}
	return found
}

// Every object and every pod template gets commonLabels. No selector gets them, because a Deployment's selector cannot be changed.
func TestCommonLabels(t *testing.T) {
	common := map[string]string{"app.kubernetes.io/part-of": "platform", "example.com/team": "a", "example.com/number": "17"}
	all := objects(t, render(t, "pods", "--set", "metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true,shards=2"))
	for _, object := range all {
		labels := object.GetLabels()
		for name, value := range common {
			if labels[name] != value {
				t.Errorf("%s %s has the labels %v", object.GetKind(), object.GetName(), labels)
			}
		}
		if labels["app.kubernetes.io/name"] != "podmanager" || labels["helm.sh/chart"] == "" {
			t.Errorf("%s %s lacks labels of the chart: %v", object.GetKind(), object.GetName(), labels)
		}
	}
	common["example.com/team"] = "b" // podLabels win
	deployments := into[appsv1.Deployment](t, all, "Deployment")
	if len(deployments) != 2 {
		t.Errorf("%d Deployments, want those of the controller and the webhooks", len(deployments))
	}
	for _, deployment := range deployments {
		want := maps.Clone(deployment.Spec.Selector.MatchLabels)
		maps.Copy(want, common)
		if len(deployment.Spec.Selector.MatchLabels) != 3 || !maps.Equal(deployment.Spec.Template.Labels, want) {
			t.Errorf("the pods of %s have the labels %v, its selector %v", deployment.Name, deployment.Spec.Template.Labels, deployment.Spec.Selector)
		}
	}
}

// The labels of a ServiceMonitor, by which Prometheus finds it, win over commonLabels.
func TestLabelsOfOneObject(t *testing.T) {
	all := objects(t, render(t, "monitoring", "--set", "commonLabels.release=common"))
	for _, object := range all {
		want := map[bool]string{true: "prometheus", false: "common"}[object.GetKind() == "ServiceMonitor"]
		if got := object.GetLabels()["release"]; got != want {
			t.Errorf("%s %s has the label %q, want %q", object.GetKind(), object.GetName(), got, want)
		}
	}
}

// The values for environment variables, volumes and hostNetwork apply to both Deployments.
func TestPodsOfBothDeployments(t *testing.T) {
	for _, deployment := range into[appsv1.Deployment](t, objects(t, render(t, "pods", "--set", "hostNetwork=true")), "Deployment") {
		spec := deployment.Spec.Template.Spec
		if !spec.HostNetwork || spec.DNSPolicy != corev1.DNSClusterFirstWithHostNet {
			t.Errorf("%s: hostNetwork is %v, dnsPolicy %q", deployment.Name, spec.HostNetwork, spec.DNSPolicy)
		}
		environment := map[string]int{}
		for _, variable := range spec.Containers[0].Env {
			environment[variable.Name]++
		}
		if environment["GOGC"] != 1 || environment["GOMEMLIMIT"] != 1 || environment["POD_NAMESPACE"] != 1 {
			t.Errorf("%s has the environment %v", deployment.Name, spec.Containers[0].Env)
		}
		if len(spec.Volumes) != 2 || len(spec.Containers[0].VolumeMounts) != 2 {
			t.Errorf("%s has the volumes %v, mounted at %v", deployment.Name, spec.Volumes, spec.Containers[0].VolumeMounts)
		}
	}
}

// With default values a controller reaches API servers on the ports of common distributions.
func TestDefaultPorts(t *testing.T) {
	rendered := helm(t, "template", "podmanager", shared.chart, withImage)
	var ports []int32
	for _, rule := range into[networkingv1.NetworkPolicy](t, objects(t, rendered), "NetworkPolicy")[0].Spec.Egress {
		for _, port := range rule.Ports {
			ports = append(ports, port.Port.IntVal)
		}
	}
	if want := []int32{53, 53, 443, 6443, 8443, 16443}; !reflect.DeepEqual(ports, want) {
		t.Errorf("the controller may reach the ports %v, want %v", ports, want)
	}
}

// If metrics.prometheusRule.runbookURL is set, each alert links to its section of the manual. Nothing else in the alert changes.
func TestRunbookURL(t *testing.T) {
	const manual = "https://wiki.example.com/podmanager"
	want, err := monitoring.ReadAlerts(monitoring.AlertsFile)
	if err != nil {
		t.Fatal(err)
	}
	type rules struct {
		Spec struct {
			Groups []struct {
				Rules []monitoring.Alert `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	var got []monitoring.Alert
	for _, rule := range into[rules](t, objects(t, render(t, "monitoring", "--set", "metrics.prometheusRule.runbookURL="+manual)), "PrometheusRule") {
		for _, group := range rule.Spec.Groups {
			got = append(got, group.Rules...)
		}
	}
	for i := range want {
		want[i].Annotations["runbook_url"] = manual + "#" + strings.ToLower(want[i].Alert)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the alerts are %+v\nwant %+v", got, want)
	}
}

// The dashboard has the row of shards only if the release has shards.
func TestDashboardOfShards(t *testing.T) {
	for shards, want := range map[string]bool{"0": false, "16": true} {
		for _, object := range into[corev1.ConfigMap](t, objects(t, render(t, "monitoring", "--set", "shards="+shards)), "ConfigMap") {
			dashboard, err := monitoring.DecodeDashboard([]byte(object.Data["podmanager.json"]))
			if err != nil {
				t.Fatal(err)
			}
			var titles []string
			for _, panel := range dashboard.All() {
				titles = append(titles, panel.Title)
			}
			all := strings.Join(titles, ", ")
			if strings.Contains(all, "Shards by replica") != want || !strings.Contains(all, "Rollouts by result") {
				t.Errorf("with %s shards the dashboard has the panels %s", shards, all)
			}
		}
	}
}
