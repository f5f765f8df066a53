package fields

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// heldBy has the reasons for which PodManagers with certain values are not Ready. Each value is tried together with a rollout.
var heldBy = map[string][]string{
	"spec.replicas=2147483647": {v1.ReasonForbidden}, // because of a quota: otherwise there would be no end of pods
	"spec.paused=true":         {v1.ReasonPaused},
}

// contradictions are values that the field's schema allows, but that contradict the defaults of other fields, such as a deadline that is too short.
var contradictions = []string{
	"spec.progressDeadlineSeconds=1", "spec.progressDeadlineSeconds=2",
	"spec.minReadySeconds=2147483647", "spec.failurePolicy.gracePeriodSeconds=2147483647",
}

// trialsOf walks a schema and generates values for all its fields, except for the hundreds of fields of the template.
func trialsOf(schema map[string]any, path ...string) []Trial {
	var trials []Trial
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if len(path) == 0 && name == "template" {
			continue
		}
		field, _ := properties[name].(map[string]any)
		inner := append(slices.Clone(path), name)
		valid, invalid := valuesOf(field)
		for _, value := range valid {
			t := Trial{path: inner, value: value}
			t.Held, t.Refused = heldBy[t.String()], slices.Contains(contradictions, t.String())
			trials = append(trials, t)
		}
		for _, value := range invalid {
			trials = append(trials, Trial{path: inner, value: value, Refused: true})
		}
		trials = append(trials, Trial{path: inner, Refused: len(path) == 0 && name == "image"}) // either image or template is required
		trials = append(trials, trialsOf(field, inner...)...)
	}
	return trials
}

// valuesOf returns values that a schema allows, and values that it refuses: limits, values beyond the limits, and other types.
func valuesOf(schema map[string]any) (valid, invalid []any) {
	const beyond = int64(math.MaxInt32) + 1
	switch {
	case schema["enum"] != nil:
		return schema["enum"].([]any), []any{"Nonsense", "", 7}
	case schema["x-kubernetes-int-or-string"] == true:
		least := leastOf(schema)
		return []any{least, fmt.Sprintf("%d%%", least), "50%", "100%", int64(math.MaxInt32)},
			[]any{least - 1, beyond, 1.5, "101%", "-1%", "3", "many", true}
	case schema["type"] == "integer":
		least := leastOf(schema)
		return []any{least, least + 1, int64(math.MaxInt32)}, []any{least - 1, beyond, 1.5, "many", "1"}
	case schema["type"] == "boolean":
		return []any{true, false}, []any{"true", 1}
	case schema["format"] == "date-time":
		return []any{"2026-11-15T12:00:00Z", "1999-12-31T23:59:59.5+01:00"},
			[]any{"", "now", "2026-11-15", "2026-11-15T12:00:00", "2026-11-15t12:00:00z", "2026-02-30T12:00:00Z", "0001-01-01T00:00:00Z", 5}
	case schema["type"] == "string":
		return []any{"nginx:1.26"}, []any{"", 5}
	case schema["type"] == "object":
		return []any{map[string]any{}}, []any{"text", []any{}}
	default:
		return nil, nil
	}
}

var leastRule = regexp.MustCompile(`self >= ([0-9]+)`)

// leastOf returns the smallest number that a schema allows. A field that takes numbers and percentages has it in a validation rule.
func leastOf(schema map[string]any) int64 {
	if least, found := schema["minimum"].(float64); found {
		return int64(least)
	}
	if parts := leastRule.FindStringSubmatch(fmt.Sprint(schema["x-kubernetes-validations"])); parts != nil {
		least, _ := strconv.ParseInt(parts[1], 10, 64) // the expression matches only digits
		return least
	}
	return 0
}
