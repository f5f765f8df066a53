package monitoring

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/mycompany/podmanager/pkg/plan/status"
)

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Each alert tells the operator on call what is wrong and what to type, and the manual has a section for it.
func TestAlerts(t *testing.T) {
	t.Chdir("../../../..")
	alerts, err := ReadAlerts(AlertsFile)
	if err != nil {
		t.Fatal(err)
	}
	var names, sections []string
	for _, alert := range alerts {
		names = append(names, alert.Alert)
		if severity := alert.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s has the severity %q", alert.Alert, severity)
		}
		for _, annotation := range []string{"summary", "description"} {
			if !strings.HasSuffix(alert.Annotations[annotation], ".") {
				t.Errorf("%s: %s is no sentence: %q", alert.Alert, annotation, alert.Annotations[annotation])
			}
		}
		if !strings.Contains(alert.Annotations["runbook"], "kubectl ") {
			t.Errorf("%s does not say what to type: %q", alert.Alert, alert.Annotations["runbook"])
		}
		// The file does not know where the manual can be read. The chart adds the link if the user says where.
		if text := fmt.Sprint(alert.Annotations); strings.Contains(text, "://") || strings.Contains(text, "runbook_url") {
			t.Errorf("%s links to a place that may not exist: %s", alert.Alert, text)
		}
	}
	for _, heading := range regexp.MustCompile(`(?m)^### (PodManager\w+)$`).FindAllStringSubmatch(read(t, "artifacts/monitoring/README.md"), -1) {
		sections = append(sections, heading[1])
	}
	if !slices.Equal(names, sections) {
		t.Errorf("the alerts are %v, the README has sections for %v", names, sections)
	}
}

// Each alert has a test in which it is silent at first, fires, and is silent again.
func TestAlertsAreTested(t *testing.T) {
	t.Chdir("../../../..")
	alerts, err := ReadAlerts(AlertsFile)
	if err != nil {
		t.Fatal(err)
	}
	var tests struct {
		Tests []struct {
			Cases []struct {
				Alertname string           `json:"alertname"`
				Expected  []map[string]any `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "artifacts/monitoring/alerts_test.yaml")), &tests); err != nil {
		t.Fatal(err)
	}
	story := map[string]string{}
	for _, test := range tests.Tests {
		for _, c := range test.Cases {
			story[c.Alertname] += map[bool]string{true: "fires ", false: "silent "}[len(c.Expected) > 0]
		}
	}
	for _, alert := range alerts {
		if story[alert.Alert] != "silent fires silent " {
			t.Errorf("the tests of %s are: %s", alert.Alert, story[alert.Alert])
		}
	}
}

func TestHasten(t *testing.T) {
	const rules, want = "for: 15m\nexpr: increase(some_m[5m] offset 1m) > 10 and x[1d]\n# 5 minutes\n", "for: 15s\nexpr: increase(some_m[5s] offset 1s) > 10 and x[1d]\n# 5 minutes\n"
	if got := string(Hasten([]byte(rules))); got != want {
		t.Errorf("got %s", got)
	}
}

func TestDashboard(t *testing.T) {
	t.Chdir("../../../..")
	dashboard, err := ReadDashboard(DashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	// Grafana 11 and 12 accept older schemas and migrate them. 36 is the last one that changed what we use.
	if dashboard.UID == "" || len(dashboard.UID) > 40 || dashboard.Title == "" || dashboard.SchemaVersion < 36 || dashboard.SchemaVersion > 41 {
		t.Errorf("uid %q, title %q, schema %d", dashboard.UID, dashboard.Title, dashboard.SchemaVersion)
	}
	known := []string{"__rate_interval"}
	for _, variable := range dashboard.Templating.List {
		known = append(known, variable.Name)
	}
	taken, ids := map[Grid]string{}, map[int]string{}
	for _, panel := range dashboard.All() {
		if other := ids[panel.ID]; other != "" {
			t.Errorf("%s and %s have the same id", other, panel.Title)
		}
		ids[panel.ID] = panel.Title
		for x := panel.GridPos.X; x < panel.GridPos.X+panel.GridPos.W; x++ {
			for y := panel.GridPos.Y; y < panel.GridPos.Y+panel.GridPos.H; y++ {
				if other := taken[Grid{X: x, Y: y}]; other != "" || x >= GridWidth {
					t.Fatalf("%s overlaps the panel %q, or lies beyond the edge", panel.Title, other)
				}
				taken[Grid{X: x, Y: y}] = panel.Title
			}
		}
		if panel.Type != "row" {
			checkPanel(t, panel, known)
		}
	}
}

func checkPanel(t *testing.T, panel Panel, variables []string) {
	t.Helper()
	if panel.Title == "" || !strings.HasSuffix(panel.Description, ".") || panel.FieldConfig.Defaults.Unit == "" || len(panel.Targets) == 0 {
		t.Errorf("%q lacks its title, description, unit or queries", panel.Title)
	}
	var refs []string
	for _, target := range panel.Targets {
		if slices.Contains(refs, target.RefID) {
			t.Errorf("%s has two queries %s", panel.Title, target.RefID)
		}
		refs = append(refs, target.RefID)
		for _, used := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
			if !slices.Contains(variables, used[1]) {
				t.Errorf("%s uses $%s, which is no variable", panel.Title, used[1])
			}
		}
		if query := target.Query(Job, "1m"); strings.Contains(query, "$") {
			t.Errorf("%s: %s still has a variable", panel.Title, query)
		}
	}
}

// All panels use the data source that the reader selects.
func TestDashboardSource(t *testing.T) {
	t.Chdir("../../../..")
	var tree any
	if err := json.Unmarshal([]byte(read(t, DashboardFile)), &tree); err != nil {
		t.Fatal(err)
	}
	var sources int
	var walk func(any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, below := range node {
				walk(below)
			}
		case map[string]any:
			if source, ok := node["datasource"].(map[string]any); ok {
				sources++
				if source["uid"] != "${datasource}" || source["type"] != "prometheus" {
					t.Errorf("%v has the source %v", node["title"], source)
				}
			}
			for _, below := range node {
				walk(below)
			}
		}
	}
	walk(tree)
	if sources == 0 {
		t.Error("the dashboard names no data source")
	}
}

// Colors tell what a series means, in every panel that shows results of rollouts.
func TestColors(t *testing.T) {
	t.Chdir("../../../..")
	dashboard, err := ReadDashboard(DashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	meaning := map[string]string{"completed": "green", "halted": "orange", "rolled_back": "red", "deadline": "dark-red", "superseded": "blue"}
	if len(meaning) != len(status.Results) {
		t.Errorf("the results of rollouts are %v, and there are colors for %v", status.Results, meaning)
	}
	panels := 0
	for _, panel := range dashboard.All() {
		for _, override := range panel.FieldConfig.Overrides {
			if expression := override.Matcher.Options; override.Matcher.ID == "byRegexp" && (!strings.HasPrefix(expression, "/") || !strings.HasSuffix(expression, "/")) {
				t.Errorf("%s: %s is no expression of Grafana", panel.Title, expression)
			}
		}
		if len(panel.Targets) == 0 || !strings.Contains(panel.Targets[0].Expr, "podmanager_rollout") {
			continue
		}
		panels++
		for _, result := range status.Results {
			if color := panel.Color(string(result)); color == "" || color != meaning[string(result)] {
				t.Errorf("%s: %s is %q, want %q", panel.Title, result, color, meaning[string(result)])
			}
		}
	}
	if panels != 2 {
		t.Errorf("%d panels show the results of rollouts, want 2", panels)
	}
}

// Failures are red wherever they are shown, and no series that is not a failure is.
func TestFailuresAreRed(t *testing.T) {
	t.Chdir("../../../..")
	dashboard, err := ReadDashboard(DashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	for title, series := range map[string]map[string]string{
		"PodManagers not Ready":    {"RolloutHalted": "orange", "FailedCreate": "red", "InternalError": "red", "PodsNotReady": "", "RollingOut": "blue"},
		"Pods created and deleted": {"failed: create": "red", "failed: delete": "red", "created": "green"},
		"Pods replaced early":      {"drain": "blue", "node loss": "orange", "age": "purple"},
		"Pods that leave":          {"drain": "blue", "node loss": "orange", "age": "purple"},
		"Syncs by result":          {"error": "red", "conflict": "orange", "changed": "green"},
		"API requests":             {"GET 200": "", "GET 404": "orange", "PATCH 500": "red", "GET <error>": "red"},
		"Panics and rewinds":       {"panics": "red", "rewinds": "orange"},
	} {
		index := slices.IndexFunc(dashboard.Panels, func(panel Panel) bool { return panel.Title == title })
		if index < 0 {
			t.Errorf("there is no panel %s", title)
			continue
		}
		for name, want := range series {
			if got := dashboard.Panels[index].Color(name); got != want {
				t.Errorf("%s: %s is %q, want %q", title, name, got, want)
			}
		}
	}
}

// The panels about shards are in a collapsed row, so that a reader without shards sees no empty panels. Grafana shows a row at least once, even if
// it repeats over a variable without values. The chart finds the row by its title, and leaves it out if the release has no shards.
func TestShardsAreCollapsed(t *testing.T) {
	t.Chdir("../../../..")
	dashboard, err := ReadDashboard(DashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		if panel.Title == "Shards" && panel.Type == "row" && panel.Collapsed && len(panel.Panels) > 0 {
			return
		}
		if strings.Contains(panel.Title, "hard") {
			t.Errorf("%s is always shown", panel.Title)
		}
	}
	t.Error("there is no collapsed row of shards")
}

func TestLegend(t *testing.T) {
	target := Target{LegendFormat: "{{method}} {{code}}"}
	if got := target.Legend(map[string]string{"method": "GET", "code": "200", "job": "x"}); got != "GET 200" {
		t.Errorf("got %q", got)
	}
}

// An abridged answer of parse_query for sum by (result) (increase(a_total{job=~"x"}[5m]) or b).
func TestUsage(t *testing.T) {
	var tree any
	if err := json.Unmarshal([]byte(`{"type": "aggregation", "grouping": ["result"], "expr": {"type": "binaryExpr",
		"lhs": {"type": "call", "args": [{"type": "matrixSelector", "name": "a_total", "matchers": [
			{"name": "job", "type": "=~", "value": "x"}, {"name": "__name__", "type": "=", "value": "a_total"}]}]},
		"rhs": {"type": "vectorSelector", "name": "b", "matchers": []}}}`), &tree); err != nil {
		t.Fatal(err)
	}
	usage := Usage{Groupings: map[string][]string{}}
	usage.add(tree)
	var metrics []string
	for _, selector := range usage.Selectors {
		metrics = append(metrics, selector.Metric)
		if selector.Metric == "a_total" && !slices.Equal(selector.Matchers, []Matcher{{"job", "x", "=~"}}) {
			t.Errorf("the matchers are %v", selector.Matchers)
		}
	}
	slices.Sort(metrics)
	slices.Sort(usage.Groupings["result"])
	if want := []string{"a_total", "b"}; !slices.Equal(metrics, want) || !slices.Equal(usage.Groupings["result"], want) {
		t.Errorf("got %v, and by result %v", metrics, usage.Groupings["result"])
	}
}
