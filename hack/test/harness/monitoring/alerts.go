package monitoring

import (
	"fmt"
	"os"
	"regexp"

	"sigs.k8s.io/yaml"
)

// Paths of the monitoring artifacts.
const (
	AlertsFile    = "artifacts/monitoring/alerts.yaml"
	DashboardFile = "artifacts/monitoring/dashboard.json"
)

// Alert is an alerting rule.
type Alert struct {
	Alert         string            `json:"alert"`
	Expr          string            `json:"expr"`
	For           string            `json:"for"`
	KeepFiringFor string            `json:"keep_firing_for"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
}

// ReadAlerts reads a rule file. A field that is not part of a Prometheus rule is an error.
func ReadAlerts(file string) ([]Alert, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var rules struct {
		Groups []struct {
			Name  string  `json:"name"`
			Rules []Alert `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(data, &rules); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []Alert
	for _, group := range rules.Groups {
		all = append(all, group.Rules...)
	}
	return all, nil
}

var minutes = regexp.MustCompile(`\b([0-9]+)m\b`)

// Hasten turns every minute in a rule file into a second, so that a test need not wait for hours. A day stays a day.
func Hasten(rules []byte) []byte { return minutes.ReplaceAll(rules, []byte("${1}s")) }
