package main

import (
	"fmt"
	"strings"
	"testing"
)

// The schema refuses what a PodManager cannot use in a template, and says what to do.
func TestTemplateIsRefused(t *testing.T) {
	for field, words := range map[string]string{
		"spec/activeDeadlineSeconds": "remove it",
		"metadata/labels":            "remove them from the template",
		"metadata/annotations":       "remove them from the template",
	} {
		path := []string{"properties", "spec", "properties", "template"}
		for name := range strings.SplitSeq(field, "/") {
			path = append(path, "properties", name)
		}
		schema, err := descend(installed(t), path)
		if err != nil {
			t.Fatal(err)
		}
		if rules := fmt.Sprint(schema["x-kubernetes-validations"]); !strings.Contains(rules, words) {
			t.Errorf("%s has the rules %s", field, rules)
		}
	}
}
