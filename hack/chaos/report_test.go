package main

import (
	"strings"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
)

func TestTable(t *testing.T) {
	held := testenv.Result{Scenario: "s", Contender: "PodManager", Converged: []time.Duration{time.Second, 3 * time.Second}, Counts: map[string]int{testenv.APIServerKills: 20}}
	broke := testenv.Result{Scenario: "s", Contender: "PodManager", Violations: []faults.Violation{{Invariant: "I4"}, {Invariant: "I1"}, {Invariant: "I1"}}}
	theirs := testenv.Result{Scenario: "s", Contender: "ReplicaSet", Violations: []faults.Violation{{Invariant: "I1"}}}
	void := testenv.Result{Scenario: "s", Contender: "PodManager", Error: "no cluster"}
	tests := map[string]struct {
		results  []testenv.Result
		complete bool
		line     string
		failure  string
	}{
		"all held":      {[]testenv.Result{held, held}, false, "s 2 0 0 0 0 0 0 0 3.0 s, 3.0 s - - - - - - - - -", ""},
		"the peer may":  {[]testenv.Result{held, theirs}, false, "s 1 0 0 0 0 0 0 0 3.0 s, 3.0 s 1 1 0 0 0 0 0 0 -", ""},
		"ours may not":  {[]testenv.Result{held, broke}, false, "s 2 2 0 0 1 0 0 0 3.0 s, 3.0 s - - - - - - - - -", "violated invariants 3 times"},
		"a void run":    {[]testenv.Result{held, void}, false, "s 2 (1 void) 0 0 0 0 0 0 0 3.0 s, 3.0 s - - - - - - - - -", "1 runs were void"},
		"too few kills": {[]testenv.Result{held}, true, "s 1 0 0 0 0 0 0 0 3.0 s, 3.0 s - - - - - - - - -", "0 controller kills instead of 100"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			table := newTable(&campaign{scenarios: []testenv.Scenario{{Name: "s"}}, results: test.results, complete: test.complete})
			lines := strings.Split(table.text(), "\n")
			if got := strings.Join(strings.Fields(lines[2]), " "); got != test.line {
				t.Errorf("got  %s\nwant %s", got, test.line)
			}
			got := ""
			if err := table.failure(); err != nil {
				got = err.Error()
			}
			if (got == "") != (test.failure == "") || !strings.Contains(got, test.failure) {
				t.Errorf("failure %q, want %q", got, test.failure)
			}
			if !strings.Contains(table.markdown(), "| s | ") {
				t.Error("Markdown without the row")
			}
		})
	}
}

// The summary names the scenarios that did not run.
func TestNoRound(t *testing.T) {
	ours, theirs := testenv.Result{Scenario: "a", Contender: "PodManager"}, testenv.Result{Scenario: "b", Contender: "ReplicaSet"}
	table := newTable(&campaign{scenarios: []testenv.Scenario{{Name: "a"}, {Name: "b"}, {Name: "c"}}, results: []testenv.Result{ours, theirs}})
	if want := "2 scenarios did not run, because the time was up: b, c."; !strings.Contains(table.text(), want) {
		t.Errorf("the table does not say %q:\n%s", want, table.text())
	}
}
