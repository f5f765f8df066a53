package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/chaos/mutants"
	"github.com/mycompany/podmanager/hack/chaos/scenarios"
	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
)

// Every scenario has a mutant to catch, and no mutant names a scenario that does not exist.
func TestEveryScenarioHasMutant(t *testing.T) {
	all, err := mutants.All()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range all {
		for name := range m.Scenarios {
			named[name] = true
			if !slices.ContainsFunc(scenarios.All(), func(s testenv.Scenario) bool { return s.Name == name }) {
				t.Errorf("mutant %s names a scenario %s, which does not exist", m.Name, name)
			}
		}
	}
	for _, s := range scenarios.All() {
		if !named[s.Name] {
			t.Errorf("no mutant shows that the scenario %s can fail", s.Name)
		}
	}
}

func TestHuntFailure(t *testing.T) {
	caught := testenv.Result{Violations: []faults.Violation{{Invariant: "I1", What: "too many"}}}
	tests := map[string]struct {
		last    testenv.Result
		cell    string
		failure string
	}{
		"caught":            {caught, "I1", ""},
		"caught, then void": {testenv.Result{Violations: caught.Violations, Error: "interrupted"}, "I1", ""},
		"caught by another": {testenv.Result{Violations: []faults.Violation{{Invariant: "I3"}}}, "nothing", "s did not catch m (it is broken)"},
		"not caught":        {testenv.Result{}, "nothing", "s did not catch m (it is broken)"},
		"void":              {testenv.Result{Error: "no cluster"}, "nothing", "s did not catch m (it is broken)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hunts := []*hunt{{mutant: mutants.Mutant{Name: "m", About: "it is broken", Scenarios: map[string]string{"s": "I1"}}, scenario: testenv.Scenario{Name: "s"}, rounds: 2, last: test.last}}
			if line := strings.Join(strings.Fields(strings.Split(huntTable(hunts), "\n")[1]), " "); line != "s m "+test.cell+" 2 0 s 0.0 s" {
				t.Errorf("the table says %q", line)
			}
			got := ""
			if err := huntFailure(hunts); err != nil {
				got = err.Error()
			}
			if got != test.failure {
				t.Errorf("failure %q, want %q", got, test.failure)
			}
		})
	}
}
