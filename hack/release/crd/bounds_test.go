package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp/syntax"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/bounds"
)

// installed returns the schema of the CRD.
func installed(t testing.TB) map[string]any {
	t.Helper()
	data, err := os.ReadFile("../../../artifacts/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	schema, err := descend(versionsOf(crd)[0], []string{"schema", "openAPIV3Schema"})
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// The controller can decode whatever the schema admits.
func FuzzAdmittedIsDecoded(f *testing.F) {
	schema := installed(f)
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := generator{rand.New(rand.NewPCG(seed, 0))}
		object := g.value(schema).(map[string]any)
		object["apiVersion"], object["kind"], object["metadata"] = v1.GroupVersion.String(), v1.Kind, map[string]any{"name": "web"}
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := bounds.Unmarshal(data, &v1.PodManager{}); err != nil {
			t.Errorf("%v\n%s", err, data)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("decoding took %v: %s", took, data)
		}
	})
}

// generator generates values that a schema admits, as extreme as possible.
type generator struct{ *rand.Rand }

func (g generator) value(node any) any {
	schema, _ := node.(map[string]any)
	if options, isEnum := schema["enum"].([]any); isEnum {
		return options[g.IntN(len(options))]
	}
	kind := schema["type"]
	if schema["x-kubernetes-int-or-string"] == true {
		kind = []string{"integer", "string"}[g.IntN(2)]
	}
	switch kind {
	case "object":
		return g.object(schema)
	case "array":
		items := make([]any, g.IntN(3))
		for i := range items {
			items[i] = g.value(schema["items"])
		}
		return items
	case "integer", "number":
		return g.number(schema)
	case "boolean":
		return g.IntN(2) == 0
	default:
		return g.text(schema)
	}
}

func (g generator) object(schema map[string]any) map[string]any {
	object := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		if g.IntN(3) == 0 || name == "spec" || name == "template" {
			object[name] = g.value(property)
		}
	}
	if values, isMap := schema["additionalProperties"]; isMap {
		for range g.IntN(3) {
			object[fmt.Sprint("key-", g.IntN(100))] = g.value(values)
		}
	}
	return object
}

// number returns one of the two limits, or a small number.
func (g generator) number(schema map[string]any) any {
	least, hasLeast := schema["minimum"].(float64)
	most, hasMost := schema["maximum"].(float64)
	if !hasLeast {
		least = -1e300
	}
	if !hasMost {
		most = 1e300
	}
	return json.Number(strings.TrimSuffix(fmt.Sprintf("%.0f", []float64{least, most, max(least, min(most, 7))}[g.IntN(3)]), ".0"))
}

func (g generator) text(schema map[string]any) string {
	pattern, _ := schema["pattern"].(string)
	if pattern == "" {
		return []string{"", "a", "1e-999999999", "ü\x00\"\\"}[g.IntN(4)]
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	text := g.matching(parsed.Simplify())
	if schema["format"] == "date-time" {
		return "2026-11-17T12:34:56" + text[19:] // the pattern admits dates that do not exist, but the API server does not
	}
	return text
}

// matching returns a text that an expression matches. An unlimited repetition is repeated up to ten times.
func (g generator) matching(e *syntax.Regexp) string {
	var text strings.Builder
	repeat := func(least, most int) {
		for range least + g.IntN(most-least+1) {
			text.WriteString(g.matching(e.Sub[0]))
		}
	}
	switch e.Op {
	case syntax.OpLiteral:
		text.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		i := 2 * g.IntN(len(e.Rune)/2)
		text.WriteRune(e.Rune[i] + rune(g.IntN(int(e.Rune[i+1]-e.Rune[i])+1)))
	case syntax.OpCapture:
		repeat(1, 1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpStar:
		repeat(0, 10)
	case syntax.OpPlus:
		repeat(1, 10)
	case syntax.OpConcat:
		for _, part := range e.Sub {
			text.WriteString(g.matching(part))
		}
	case syntax.OpAlternate:
		text.WriteString(g.matching(e.Sub[g.IntN(len(e.Sub))]))
	}
	return text.String()
}

// Every quantity of the schema is limited, and so is every list and map of the template.
func TestBounds(t *testing.T) {
	quantities, lists := 0, 0
	each(installed(t), "", func(path string, schema map[string]any) {
		if pattern, _ := schema["pattern"].(string); schema["x-kubernetes-int-or-string"] == true && strings.Contains(pattern, "[KMGTPE]i") {
			quantities++
			if pattern != quantityPattern || schema["maxLength"] == nil || schema["maximum"] == nil {
				t.Errorf("%s is not bounded: %v", path, schema)
			}
		}
		_, isMap := schema["additionalProperties"]
		if isList := schema["type"] == "array"; (isList || isMap) && strings.HasPrefix(path, ".spec.template.") {
			lists++
			if schema["maxItems"] == nil && schema["maxProperties"] == nil {
				t.Errorf("%s is not bounded", path)
			}
		}
	})
	if quantities < 15 || lists < 100 {
		t.Errorf("found %d quantities and %d lists in the schema: is it the right one?", quantities, lists)
	}
}

// each calls visit for a schema and all schemas in it.
func each(schema map[string]any, path string, visit func(path string, schema map[string]any)) {
	visit(path, schema)
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		each(property.(map[string]any), path+"."+name, visit)
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if values, ok := schema[inner].(map[string]any); ok {
			each(values, path+"."+inner, visit)
		}
	}
}
