package main

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestReadValues(t *testing.T) {
	got, err := readValues([]byte(`# About the file.

# One
one: 1
two: # groups need no comment
  # In two,
  # on two lines
  deep: ""
# All of three
three:
  a: 1
  b: [x]
four:
  five:
    # Six
    six: null
# Seven
seven:
  - a: 1
`))
	want := []value{
		{"one", "1", "One"}, {"two.deep", `""`, "In two, on two lines"}, {"three", `{"a":1,"b":["x"]}`, "All of three"},
		{"four.five.six", "null", "Six"}, {"seven", `[{"a":1}]`, "Seven"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q, %v\nwant %q", got, err, want)
	}
	if _, err := readValues([]byte("a:\n  b: 1\n")); err == nil || err.Error() != "a.b has no comment" {
		t.Errorf("without a comment: got %v", err)
	}
}

// Each comment begins with Enables, Sets, the controller's flag, or a noun, and not with a question or a condition.
func TestComments(t *testing.T) {
	t.Chdir("../../..")
	values, err := readValues([]byte(read(t, valuesFile)))
	if err != nil {
		t.Fatal(err)
	}
	question := regexp.MustCompile(`^(-[\w-]+: )?(?i:whether|if|when|where|which|what|who|whom|how|in|to)\b`)
	for _, value := range values {
		if question.MatchString(value.meaning) {
			t.Errorf("%s: %q does not say what the value is or enables", value.path, value.meaning)
		}
		if isSwitch := value.fallback == "true" || value.fallback == "false"; isSwitch && !strings.HasPrefix(value.meaning, "Enables ") && !strings.HasPrefix(value.meaning, "-") {
			t.Errorf("%s is true or false, and %q does not say what it enables", value.path, value.meaning)
		}
	}
}

// The generated files are up to date.
func TestGenerated(t *testing.T) {
	t.Chdir("../../..")
	readme, table := read(t, readmeFile), read(t, valuesFile)
	updated, err := withTable(readme, []byte(table))
	if err != nil {
		t.Fatal(err)
	}
	if updated != readme {
		t.Errorf("%s is not made from %s: run make generate", readmeFile, valuesFile)
	}
	for to, from := range copies {
		if read(t, to) != read(t, from) {
			t.Errorf("%s is not a copy of %s: run make generate", to, from)
		}
	}
	if _, err := os.Stat(patchFile); err == nil {
		if version, err := addedVersion(read(t, patchFile)); err != nil || version != read(t, alphaFile) {
			t.Errorf("%s is not made from %s (error %v): run make generate", alphaFile, patchFile, err)
		}
	}
}

func TestAddedVersion(t *testing.T) {
	const want = "  - name: v2\n    schema:\n      a: 1\n"
	const version = "- op: add\n  path: /spec/versions/-\n  value:\n    name: v2\n    schema:\n      a: 1\n"
	const conversion = "- op: add\n  path: /spec/conversion\n  value: {}\n"
	for name, patch := range map[string]string{"alone": version, "first": "# Generated.\n" + version + conversion, "last": conversion + version} {
		if got, err := addedVersion(patch); err != nil || got != want {
			t.Errorf("%s: got %q, error %v, want %q", name, got, err, want)
		}
	}
	for name, patch := range map[string]string{"another path": conversion, "in one line": "- op: add\n  path: /spec/versions/-\n  value: {}\n", "nothing": ""} {
		if got, err := addedVersion(patch); err == nil {
			t.Errorf("%s: got %q, want an error", name, got)
		}
	}
}

// The schema covers every value and nothing else. It rejects unknown keys wherever the chart defines the keys.
func TestSchema(t *testing.T) {
	t.Chdir("../../..")
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, valuesFile)), &values); err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal([]byte(read(t, "artifacts/chart/values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	// A parent chart sets these.
	known := schema["properties"].(map[string]any)
	for _, name := range []string{"global", "enabled"} {
		if known[name] == nil {
			t.Errorf("the schema does not allow %s", name)
		}
		delete(known, name)
	}
	checkSchema(t, "", values, schema, known)
}

// ofKubernetes are mappings whose keys are defined by Kubernetes or the user.
var ofKubernetes = []string{"affinity", "nodeSelector", "commonLabels", "podAnnotations", "podLabels", "podSecurityContext", "securityContext", "serviceAccount.annotations", "metrics.serviceMonitor.labels", "metrics.serviceMonitor.tlsConfig",
	"metrics.prometheusRule.labels", "metrics.prometheusRule.annotations", "metrics.dashboard.labels", "metrics.dashboard.annotations"}

// optional matches mappings of which values.yaml has only some keys, such as resources.limits.
var optional = regexp.MustCompile(`\.resources\b|\.(liveness|readiness)Probe$`)

// checkSchema checks the values below a path. If a schema only refers to another one, that is looked up in known, the top-level schemas.
func checkSchema(t *testing.T, path string, values, schema, known map[string]any) {
	t.Helper()
	if reference, ok := schema["$ref"].(string); ok {
		schema, _ = known[strings.TrimPrefix(reference, "#/properties/")].(map[string]any)
	}
	properties, _ := schema["properties"].(map[string]any)
	if schema["additionalProperties"] != false {
		t.Errorf("%q may have unknown values", path)
	}
	for name := range properties {
		if _, ok := values[name]; !ok && !optional.MatchString(path) {
			t.Errorf("the schema has %s.%s, which values.yaml has not", path, name)
		}
	}
	for name, value := range values {
		property, ok := properties[name].(map[string]any)
		if !ok {
			t.Errorf("the schema lacks %s.%s", path, name)
			continue
		}
		below := path + "." + name
		if mapping, ok := value.(map[string]any); ok && !slices.Contains(ofKubernetes, below[1:]) {
			checkSchema(t, below, mapping, property, known)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
