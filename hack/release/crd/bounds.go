package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/mycompany/podmanager/pkg/bounds"
)

const (
	// mostItems is the maximum number of objects in a list, and mostTexts the maximum number of strings or numbers. Both are far more than a pod
	// needs, and far less than fits into an object.
	mostItems = 1000
	mostTexts = 10_000
	// mostInt64 is the largest number that both an int64 and a float64 can represent, because the API server compares as float64.
	mostInt64 = 1<<63 - 1024
)

// quantityPattern accepts the quantities that Go can parse, except for those that take long to parse.
var quantityPattern = fmt.Sprintf(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,%d})?$`, bounds.ExponentDigits)

// timePattern accepts the times that Go can parse. The API server also accepts others as date-time.
const timePattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`

// bound makes a schema reject what Go cannot decode, or only at a high cost. Kubernetes types have no markers for that.
func bound(node any) {
	switch node := node.(type) {
	case map[string]any:
		boundValue(node)
		for _, child := range node {
			bound(child)
		}
	case []any:
		for _, child := range node {
			bound(child)
		}
	}
}

func boundValue(schema map[string]any) {
	pattern, _ := schema["pattern"].(string)
	switch {
	case schema["x-kubernetes-int-or-string"] == true && strings.Contains(pattern, "[KMGTPE]i"):
		schema["pattern"], schema["maxLength"] = quantityPattern, bounds.QuantityLength
		within(schema, mostInt64)
	case schema["x-kubernetes-int-or-string"] == true, schema["format"] == "int32":
		within(schema, math.MaxInt32)
	case schema["format"] == "int64":
		within(schema, mostInt64)
	case schema["format"] == "date-time":
		schema["pattern"] = timePattern
	}
}

// within limits a number, unless a marker already does.
func within(schema map[string]any, most int64) {
	if _, isSet := schema["minimum"]; !isSet {
		schema["minimum"] = -most - 1
	}
	if _, isSet := schema["maximum"]; !isSet {
		schema["maximum"] = most
	}
}

// shorten limits the lists and maps of a template.
func shorten(node any) {
	schema, _ := node.(map[string]any)
	switch schema["type"] {
	case "array":
		items, _ := schema["items"].(map[string]any)
		most := mostTexts
		if items["type"] == "object" {
			most = mostItems
		}
		if _, isSet := schema["maxItems"]; !isSet {
			schema["maxItems"] = most
		}
		shorten(items)
	case "object":
		if values, isMap := schema["additionalProperties"]; isMap {
			schema["maxProperties"] = mostItems
			shorten(values)
		}
		properties, _ := schema["properties"].(map[string]any)
		for _, property := range properties {
			shorten(property)
		}
	}
}
