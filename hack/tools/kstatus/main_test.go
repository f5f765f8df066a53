package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
)

// object is a PodManager of generation 2 with more metadata and a status.
func object(metadata, status string) string {
	return fmt.Sprintf(`{"apiVersion": "apps.mycompany.com/v1", "kind": "PodManager",
		"metadata": {"name": "web", "generation": 2 %s}, "status": {%s}}`, metadata, status)
}

func condition(kind, value string) string {
	return fmt.Sprintf(`{"type": %q, "status": %q, "reason": "Because", "message": "%[1]s is %[2]s"}`, kind, value)
}

func judged(t *testing.T, input string) []verdict {
	t.Helper()
	var out bytes.Buffer
	if err := run(strings.NewReader(input), &out); err != nil {
		t.Fatal(err)
	}
	verdicts := []verdict{}
	for decoder := json.NewDecoder(&out); ; {
		var line verdict
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			return verdicts
		} else if err != nil {
			t.Fatal(err)
		}
		verdicts = append(verdicts, line)
	}
}

func TestVerdicts(t *testing.T) {
	ready, unready := condition("Ready", "True"), condition("Ready", "False")
	stalled, reconciling := condition("Stalled", "True"), condition("Reconciling", "True")
	tests := map[string]struct {
		object  string
		want    status.Status
		message string
	}{
		"fresh":           {object("", `"observedGeneration": -1`), status.InProgressStatus, "generation is 2, but latest observed generation is -1"},
		"old status":      {object("", `"observedGeneration": 1, "conditions": [`+ready+`]`), status.InProgressStatus, "latest observed generation is 1"},
		"ready":           {object("", `"observedGeneration": 2, "conditions": [`+ready+`]`), status.CurrentStatus, "Ready"},
		"not ready":       {object("", `"observedGeneration": 2, "conditions": [`+unready+`]`), status.InProgressStatus, "Ready is False"},
		"reconciling":     {object("", `"observedGeneration": 2, "conditions": [`+ready+`,`+reconciling+`]`), status.InProgressStatus, "Reconciling is True"},
		"stalled":         {object("", `"observedGeneration": 2, "conditions": [`+unready+`,`+stalled+`]`), status.FailedStatus, "Stalled is True"},
		"not stalled":     {object("", `"observedGeneration": 2, "conditions": [`+condition("Stalled", "False")+`,`+ready+`]`), status.CurrentStatus, "Ready"},
		"stalled, edited": {object("", `"observedGeneration": 1, "conditions": [`+stalled+`]`), status.InProgressStatus, "latest observed generation is 1"},
		"deleted": {object(`, "deletionTimestamp": "2026-01-01T00:00:00Z"`, `"observedGeneration": 2, "conditions": [`+ready+`]`),
			status.TerminatingStatus, "deletion"},
		// Without the CRD's default of -1 for observedGeneration, an object that no controller has seen would count as done.
		"no status": {object("", ""), status.CurrentStatus, "current"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			verdicts := judged(t, test.object)
			if len(verdicts) != 1 {
				t.Fatalf("one object, verdicts %+v", verdicts)
			}
			got := verdicts[0]
			if got.Name != "web" || got.Status != test.want || !strings.Contains(got.Message, test.message) {
				t.Errorf("got %+v, want web to be %s with a message like %q", got, test.want, test.message)
			}
		})
	}
}

func TestSeveralObjects(t *testing.T) {
	fresh := object("", `"observedGeneration": -1`)
	deleted := object(`, "deletionTimestamp": "2026-01-01T00:00:00Z"`, "")
	list := fmt.Sprintf(`{"apiVersion": "v1", "kind": "List", "items": [%s, %s]}`, fresh, deleted)
	tests := map[string]struct {
		input string
		want  []status.Status
	}{
		"none":              {"", nil},
		"an empty list":     {`{"apiVersion": "v1", "kind": "List", "items": []}`, nil},
		"one after another": {fresh + "\n" + deleted, []status.Status{status.InProgressStatus, status.TerminatingStatus}},
		"a list, and one":   {list + fresh, []status.Status{status.InProgressStatus, status.TerminatingStatus, status.InProgressStatus}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := []status.Status{}
			for _, verdict := range judged(t, test.input) {
				got = append(got, verdict.Status)
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestInvalidInput(t *testing.T) {
	for name, input := range map[string]string{
		"no JSON":             "Error from server (NotFound)",
		"half":                `{"kind": "PodManager"`,
		"no kind":             `{"metadata": {"name": "web"}}`,
		"no object":           `3`,
		"generation in words": `{"apiVersion": "apps.mycompany.com/v1", "kind": "PodManager", "metadata": {"name": "web", "generation": "two"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(strings.NewReader(input), &out); err == nil || out.Len() != 0 {
				t.Errorf("error %v, output %q; want an error and no verdict", err, out.String())
			}
		})
	}
}
