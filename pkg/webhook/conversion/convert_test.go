package conversion

import (
	"bufio"
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// object parses a PodManager from YAML. It is of v1 unless the text has another version.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := decodeObject(data)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]any{"apiVersion": hub, "kind": "PodManager"} {
		if parsed[key] == nil {
			parsed[key] = value
		}
	}
	return parsed
}

// decodeObject keeps numbers as they are written.
func decodeObject(data []byte) (object map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err = decoder.Decode(&object)
	return object, err
}

// encode encodes an object as JSON with sorted keys, so that equal objects have equal encodings.
func encode(object map[string]any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		panic(err)
	}
	return strings.TrimSpace(text.String())
}

// sent encodes an object as API servers send it: with HTML characters escaped.
func sent(t *testing.T, object map[string]any) raw {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func converted(t *testing.T, from map[string]any, version string) map[string]any {
	t.Helper()
	object := sent(t, from)
	if err := check(object, version); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	to := bufio.NewWriter(&text)
	convert(object, version).writeTo(to)
	_ = to.Flush()
	if !bytes.Equal(object, sent(t, from)) {
		t.Fatalf("the conversion changed its input: %s", object)
	}
	result, err := decodeObject(text.Bytes())
	if err != nil || !json.Valid(text.Bytes()) {
		t.Fatalf("%v: %s", err, text.Bytes())
	}
	return result
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	gotText, _ := json.MarshalIndent(got, "", " ")
	wantText, _ := json.MarshalIndent(want, "", " ")
	t.Errorf("%s: got\n%s\nwant\n%s", what, gotText, wantText)
}

const alphaHeader = "apiVersion: apps.mycompany.com/v1alpha1\n"

// v1alpha1 shows an object that is stored as v1.
func TestShown(t *testing.T) {
	tests := map[string]struct{ v1, spec, status string }{
		"the short form": {"spec: {replicas: 2, image: a}", "{size: 2, image: a}", ""},
		"a template":     {"spec: {replicas: 2, template: {spec: {containers: [{name: x, image: a, command: [b, c]}, {name: y, image: z}]}}}", "{size: 2, image: a, command: [b, c]}", ""},
		"what escapes":   {`spec: {image: "<a> && \\u003c \\\\ \" \n \x01 ä \u2028"}`, `{image: "<a> && \\u003c \\\\ \" \n \x01 ä \u2028"}`, ""},
		"no containers":  {"spec: {template: {spec: {}}}", "{}", ""},
		"no pods":        {"spec: {replicas: 0, image: a}", "{size: 0, image: a}", ""},
		"a status": {"spec: {image: a}\nstatus: {podNames: [a-0, a-1], readyReplicas: 1, replicas: 2, conditions: []}", "{image: a}",
			"{nodes: [a-0, a-1], readyNodes: 1, v1Status: {podNames: [a-0, a-1], readyReplicas: 1, replicas: 2, conditions: []}}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			from := object(t, "metadata: {name: web, uid: u, annotations: {a: b}}\n"+test.v1)
			got := converted(t, from, alpha)
			want := object(t, alphaHeader+"metadata: {name: web, uid: u, annotations: {a: b}}\nspec: "+test.spec+"\nstatus: "+test.status)
			status, _ := want["status"].(map[string]any)
			if status == nil {
				status = map[string]any{}
			}
			status["v1Spec"] = encode(from["spec"].(map[string]any))
			want["status"] = status
			same(t, "in v1alpha1", got, want)
			same(t, "back in v1", converted(t, got, hub), from)
		})
	}
}

// The spec of v1alpha1 is converted to v1, for a new object and for one that was stored as v1 before.
func TestWritten(t *testing.T) {
	tests := map[string]struct{ stored, written, want string }{
		"new":                        {"", "{size: 2, image: a}", "{replicas: 2, image: a}"},
		"new, without a size":        {"", "{image: a}", "{image: a}"},
		"new, with a command":        {"", "{size: 2, image: a, command: [b]}", "{replicas: 2, template: {spec: {containers: [{name: app, image: a, command: [b]}]}}}"},
		"new, an empty command":      {"", "{size: 2, image: a, command: []}", "{replicas: 2, image: a}"},
		"the same":                   {"{replicas: 1, image: a, paused: true}", "{size: 1, image: a}", "{replicas: 1, image: a, paused: true}"},
		"another size":               {"{replicas: 1, image: a, paused: true}", "{size: 2, image: a}", "{replicas: 2, image: a, paused: true}"},
		"another image":              {"{replicas: 1, image: a, paused: true}", "{size: 1, image: b}", "{replicas: 1, image: b, paused: true}"},
		"a command":                  {"{image: a, paused: true}", "{image: a, command: [c]}", "{paused: true, template: {spec: {containers: [{name: app, image: a, command: [c]}]}}}"},
		"another image of many":      {"{template: {metadata: {labels: {a: b}}, spec: {hostNetwork: true, containers: [{name: x, image: a, tty: true}, {name: y, image: a}]}}}", "{image: b}", "{template: {metadata: {labels: {a: b}}, spec: {hostNetwork: true, containers: [{name: x, image: b, tty: true}, {name: y, image: a}]}}}"},
		"a command for one of many":  {"{template: {spec: {containers: [{name: x, image: a}, {name: y, image: a}]}}}", "{image: a, command: [b]}", "{template: {spec: {containers: [{name: x, image: a, command: [b]}, {name: y, image: a}]}}}"},
		"another command":            {"{template: {spec: {containers: [{name: x, image: a, command: [b], args: [c]}]}}}", "{image: a, command: [d]}", "{template: {spec: {containers: [{name: x, image: a, command: [d], args: [c]}]}}}"},
		"no command any more":        {"{template: {spec: {containers: [{name: x, image: a, command: [b]}]}}}", "{image: a}", "{template: {spec: {containers: [{name: x, image: a}]}}}"},
		"an image where there is no": {"{template: {spec: {hostNetwork: true}}}", "{image: a}", "{template: {spec: {hostNetwork: true, containers: [{name: app, image: a}]}}}"},
		"a field of the future":      {"{image: a, future: {x: 1000m, y: 12345678901234567890}}", "{image: b}", "{image: b, future: {x: 1000m, y: 12345678901234567890}}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			written := object(t, alphaHeader+"metadata: {name: web}\nspec: "+test.written)
			if test.stored != "" {
				written["status"] = converted(t, object(t, "metadata: {name: web}\nspec: "+test.stored), alpha)["status"]
			}
			same(t, "in v1", converted(t, written, hub), object(t, "metadata: {name: web}\nspec: "+test.want))
		})
	}
}

// The kept fields can be invalid only if an API server lets a client write them. They are then ignored, without an error.
func TestNonsenseIsNoError(t *testing.T) {
	for name, kept := range map[string]any{
		"empty": "", "no JSON": "{", "a list": "[1]", "null": "null", "a number": json.Number("5"), "an object": map[string]any{"image": "b"},
	} {
		t.Run(name, func(t *testing.T) {
			written := object(t, alphaHeader+"spec: {size: 1, image: a}\nstatus: {nodes: [a-0], readyNodes: 1}")
			written["status"].(map[string]any)["v1Spec"] = kept
			written["status"].(map[string]any)["v1Status"] = kept
			got := converted(t, written, hub)
			same(t, "spec", got["spec"], object(t, "spec: {replicas: 1, image: a}")["spec"])
			if status := encode(got["status"].(map[string]any)); !strings.Contains(status, `"podNames":["a-0"]`) || !strings.Contains(status, `"readyReplicas":1`) {
				t.Errorf("the status is %s, want the fields of v1alpha1", status)
			}
		})
	}
	for _, text := range []string{"spec: 5", "spec: null", "status: x", "status: null", "spec: {template: 5}", "spec: {template: {spec: {containers: [5]}}}", "metadata: 5"} {
		for _, version := range []string{hub, alpha} {
			converted(t, object(t, "apiVersion: "+version+"\n"+text), hub)
			converted(t, object(t, "apiVersion: "+version+"\n"+text), alpha)
		}
	}
}

func TestRefused(t *testing.T) {
	tests := map[string]struct{ text, version, want string }{
		"another kind":          {"kind: Deployment\napiVersion: apps/v1", hub, `apps/v1 "Deployment" cannot be converted, only PodManager can`},
		"a list":                {"kind: PodManagerList", alpha, `"PodManagerList" cannot be converted`},
		"from another version":  {"apiVersion: apps.mycompany.com/v2", hub, `PodManager of version "apps.mycompany.com/v2" cannot be converted, only those of apps.mycompany.com/v1 and apps.mycompany.com/v1alpha1`},
		"from another group":    {"apiVersion: apps/v1", hub, `PodManager of version "apps/v1" cannot be converted`},
		"to another version":    {"", "apps.mycompany.com/v2", `PodManager cannot be converted to version "apps.mycompany.com/v2", only to`},
		"to no version":         {"", "", `to version ""`},
		"a strange kind":        {"kind: 5", hub, "cannot be converted"},
		"a strange API version": {"apiVersion: {}", hub, "cannot be converted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := check(sent(t, object(t, test.text+"\nspec: {}")), test.version)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
}

// An object that already has the version is not modified.
func TestSameVersion(t *testing.T) {
	for _, version := range []string{hub, alpha} {
		from := object(t, "apiVersion: "+version+"\nspec: {image: a, size: 1, replicas: 2}\nstatus: {v1Spec: x}")
		same(t, version, converted(t, from, version), from)
	}
}
