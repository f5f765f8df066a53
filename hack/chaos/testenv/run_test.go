package testenv

import (
	"testing"

	"github.com/mycompany/podmanager/hack/chaos/mutants"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
)

// A run with a mutant ends at its first violation. What happens afterwards does not count.
func TestEndAtFirst(t *testing.T) {
	i1, i3 := faults.Violation{Invariant: "I1", Object: "a"}, faults.Violation{Invariant: "I3", Object: "b"}
	for hunted, want := range map[string]int{"": 3, mutants.AnyInvariant: 1, "I1": 2, "I3": 1} {
		ended := 0
		r := &Run{known: map[string]bool{}, Hunted: hunted, end: func() { ended++ }}
		r.violate("space", i3)
		r.violate("space", i1)
		r.violate("another", i1)
		if len(r.result.Violations) != want || (ended == 1) != (hunted != "") {
			t.Errorf("hunted %q: %v, ended %d times; want %d violations, and one end if there is a hunted invariant", hunted, r.result.Violations, ended, want)
		}
	}
}
