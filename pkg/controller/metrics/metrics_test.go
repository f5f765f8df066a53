package metrics

import (
	"strings"
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"
)

// Counters exist, at zero, before anything happens. Otherwise an alert on their increase would miss the first one.
func TestCountersBeginAtZero(t *testing.T) {
	Register()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]int{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if value := metric.GetCounter().GetValue(); value != 0 && strings.HasPrefix(family.GetName(), subsystem) {
				t.Errorf("%s begins at %v, want 0", family.GetName(), value)
			}
			series[family.GetName()]++
		}
	}
	for name, want := range map[string]int{
		"podmanager_panics_total": 1, "podmanager_rewinds_total": 1, "podmanager_pods_created_total": 1, "podmanager_pods_deleted_total": 1,
		"podmanager_reconcile_total": 5, "podmanager_rollouts_total": 5, "podmanager_rollout_duration_seconds": 5, "podmanager_pod_request_failures_total": 2, "podmanager_pods_replaced_early_total": 3,
	} {
		if series[name] != want {
			t.Errorf("%s has %d series, want %d", name, series[name], want)
		}
	}
}
