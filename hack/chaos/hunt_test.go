package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/chaos/mutants"
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
		for _, name := range m.Scenarios {
			named[name] = true
			if !slices.ContainsFunc(scenarios(), func(s scenario) bool { return s.name == name }) {
				t.Errorf("mutant %s names a scenario %s, which does not exist", m.Name, name)
			}
		}
	}
	for _, s := range scenarios() {
		if !named[s.name] {
			t.Errorf("no mutant shows that the scenario %s can fail", s.name)
		}
	}
}

func TestHuntFailure(t *testing.T) {
	caught := result{Violations: []faults.Violation{{Invariant: "I1", What: "too many"}}}
	tests := map[string]struct {
		last    result
		cell    string
		failure string
	}{
		"caught":            {caught, "I1", ""},
		"caught, then void": {result{Violations: caught.Violations, Error: "interrupted"}, "I1", ""},
		"not caught":        {result{}, "nothing", "s did not catch m (it is broken)"},
		"void":              {result{Error: "no cluster"}, "nothing", "s did not catch m (it is broken)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hunts := []*hunt{{mutant: mutants.Mutant{Name: "m", About: "it is broken"}, scenario: scenario{name: "s"}, rounds: 2, last: test.last}}
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

// A run with a mutant ends at its first violation, and what happens after that does not count.
func TestEndAtFirst(t *testing.T) {
	ended := 0
	r := &run{known: map[string]bool{}, endAtFirst: true, end: func() { ended++ }}
	r.violate("space", faults.Violation{Invariant: "I1", Object: "a"})
	r.violate("space", faults.Violation{Invariant: "I3", Object: "b"})
	if len(r.result.Violations) != 1 || r.result.Violations[0].Invariant != "I1" || ended != 1 {
		t.Errorf("%v, ended %d times; want the first violation alone, and one end", r.result.Violations, ended)
	}
	all := &run{known: map[string]bool{}}
	all.violate("space", faults.Violation{Invariant: "I1", Object: "a"})
	all.violate("space", faults.Violation{Invariant: "I3", Object: "b"})
	if len(all.result.Violations) != 2 {
		t.Errorf("%v; want both violations", all.result.Violations)
	}
}
