//go:build e2e

package monitoring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/client-go/util/cert"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/monitoring"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// targetLabels are the labels that Prometheus adds. In a cluster they say where the controller runs.
var targetLabels = []string{"cluster", "namespace", "job", "instance"}

// states are the labels that describe a state. Their values come and go, so they are compared with the values of the API.
var states = map[string][]string{
	"condition": {v1.ConditionReady, v1.ConditionAvailable, v1.ConditionProgressing, v1.ConditionStalled, v1.ConditionReplicaFailure},
	"reason":    {v1.ReasonPaused, v1.ReasonRollingOut},
	"status":    {"true", "false", "unknown"},
}

// Every metric and label that the alerts and the dashboard use is exported by a controller that has done next to nothing.
func TestMetricsExist(t *testing.T) {
	t.Run("shards and webhooks", func(t *testing.T) { // their metrics only exist with these flags; Prometheus remembers them
		certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
		folder := t.TempDir()
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, "tls.crt"), certificate, 0o600), os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600))
		if err != nil {
			t.Fatal(err)
		}
		shareShards(t, "-webhook-bind-address=127.0.0.1:0", "-webhook-cert-dir="+folder)
	})
	namespace := newNamespace(t)
	namespace.apply("web", "{replicas: 1, image: nginx, disruption: {onDrain: Replace}}")
	namespace.awaitReady("web")
	queries := map[string][]string{}
	alerts, err := monitoring.ReadAlerts(monitoring.AlertsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range alerts {
		queries[alert.Alert] = []string{alert.Expr}
	}
	dashboard, err := monitoring.ReadDashboard(monitoring.DashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.All() {
		for _, target := range panel.Targets {
			queries[panel.Title] = append(queries[panel.Title], target.Query(monitoring.Job, "10s"))
		}
	}
	harness.Await(t, "Prometheus to have read the metrics of objects", func() (any, bool) {
		series, err := shared.prometheus.Series(t.Context(), fmt.Sprintf("kube_podmanager_status_condition{namespace=%q, status='true'}", namespace.Name))
		return series, err == nil && len(series) > 0
	})
	for user, all := range queries {
		for _, query := range all {
			usage, err := shared.prometheus.Parse(t.Context(), query)
			if err != nil || len(usage.Selectors) == 0 {
				t.Errorf("%s: %q reads %v, error %v", user, query, usage, err)
			}
			for _, selector := range usage.Selectors {
				checkSelector(t, user, selector)
			}
			for label, metrics := range usage.Groupings {
				checkGrouping(t, user, label, metrics)
			}
		}
	}
}

// values returns the distinct, non-empty values of a label in all series of a metric.
func values(t *testing.T, metric, label string) []string {
	t.Helper()
	series, err := shared.prometheus.Series(t.Context(), metric)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, labels := range series {
		if value := labels[label]; value != "" && !slices.Contains(found, value) {
			found = append(found, value)
		}
	}
	return found
}

func checkSelector(t *testing.T, user string, selector monitoring.Selector) {
	t.Helper()
	if len(values(t, selector.Metric, "__name__")) == 0 {
		t.Errorf("%s: %s does not exist", user, selector.Metric)
		return
	}
	for _, matcher := range selector.Matchers {
		found := values(t, selector.Metric, matcher.Name)
		known, isState := states[matcher.Name]
		switch {
		case len(found) == 0:
			t.Errorf("%s: %s has no label %s", user, selector.Metric, matcher.Name)
		case isState && !slices.Contains(known, matcher.Value):
			t.Errorf("%s: %s is never %q", user, matcher.Name, matcher.Value)
		case !isState && matcher.Type == "=" && !slices.Contains(found, matcher.Value):
			t.Errorf("%s: %s of %s is %v, never %q", user, matcher.Name, selector.Metric, found, matcher.Value)
		}
	}
}

// checkGrouping checks that at least one of the metrics has the label to aggregate by.
func checkGrouping(t *testing.T, user, label string, metrics []string) {
	t.Helper()
	if slices.Contains(targetLabels, label) {
		return
	}
	if !slices.ContainsFunc(metrics, func(metric string) bool { return len(values(t, metric, label)) > 0 }) {
		t.Errorf("%s: none of %v has the label %s", user, metrics, label)
	}
}
