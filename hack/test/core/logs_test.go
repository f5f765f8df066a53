//go:build e2e

package core

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// logLine has the fields of a JSON log line that the tests need.
type logLine struct {
	Message    string `json:"msg"`
	PodManager string
	Pod        struct{ Name string }
	Why, Step  string
	Revision   any // a name, or a reference to a ControllerRevision
	Result     string
	Triggers   []string
}

// logLines returns all lines, which have to be JSON.
func (s *space) logLines(p *lab.Process) []logLine {
	s.T.Helper()
	data, err := os.ReadFile(p.Log)
	if err != nil {
		s.T.Fatal(err)
	}
	var lines []logLine
	for text := range strings.Lines(string(data)) {
		var line logLine
		if !strings.HasSuffix(text, "\n") {
			break // it is still being written
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			s.T.Errorf("this line is no JSON: %v: %s", err, text)
		}
		lines = append(lines, line)
	}
	return lines
}

// With -logging-format json each line is JSON. Each change has one line with its object and the reason. The log contains nothing of the template's
// content, at any verbosity.
func TestLogs(t *testing.T) {
	const secret = "hunter2"
	s := newSpace(t)
	p := s.private("-logging-format", "json", "-v", "5")
	template := "{replicas: 2, failurePolicy: {gracePeriodSeconds: 0}, updateStrategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}, template: {spec: " +
		"{containers: [{name: app, image: '%s', env: [{name: PASSWORD, value: " + secret + "}]}]}}}"
	s.applyPrivate("web", fmt.Sprintf(template, good))
	s.awaitCurrent()
	s.applyPrivate("web", fmt.Sprintf(template, better))
	s.awaitCurrent()
	counts := func() map[string]int {
		counts := map[string]int{}
		for _, line := range s.logLines(p) {
			if line.PodManager != "" && line.PodManager != s.Name+"/web" {
				t.Errorf("this line is about another object: %+v", line)
			}
			switch line.Message {
			case "Syncing":
				if len(line.Triggers) == 0 {
					t.Errorf("this line has no triggers: %+v", line)
				}
			case "Created pod":
				counts[fmt.Sprintf("created, named %t, of a revision %t", line.Pod.Name != "", line.Revision != nil)]++
			case "Deleted pod":
				counts[fmt.Sprintf("deleted, named %t: %s", line.Pod.Name != "", line.Why)]++
			case "Rollout":
				counts[line.Step]++
			case "Rollout counted":
				counts["counted as "+line.Result]++
			}
		}
		return counts
	}
	want := map[string]int{
		"created, named true, of a revision true": 4, "deleted, named true: made from another template": 2,
		v1.EventStarted: 1, v1.EventCompleted: 1, "counted as completed": 1,
	}
	s.Await(fmt.Sprintf("the log to have %v", want), func() (any, bool) { seen := counts(); return seen, fmt.Sprint(seen) == fmt.Sprint(want) })
	if lines := logged(t, p, secret); len(lines) > 0 {
		t.Errorf("the log has what is in the template: %q", lines)
	}
}

// A request that is refused repeatedly is logged once.
func TestLogOfRefusals(t *testing.T) {
	s := newSpace(t)
	p := s.private("-v", "2")
	s.Kubectl("create", "quota", "none", "--hard", "pods=0")
	s.applyPrivate("web", spec(2, good, ""))
	s.awaitCondition(v1.ConditionReplicaFailure, metav1.ConditionTrue, v1.ReasonFailedCreate, "exceeded quota")
	s.Await("the refused request to be tried again", func() (any, bool) {
		failures := metric(t, p, "podmanager_pod_request_failures_total", "create")
		return failures, failures >= 2
	})
	if lines := logged(t, p, `"Requests fail"`); len(lines) != 1 || !strings.Contains(lines[0], "exceeded quota") {
		t.Errorf("the log reports the refusals in these lines, want one: %q", lines)
	}
}
