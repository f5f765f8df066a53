package main

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/mycompany/podmanager/hack/chaos/mutants"
)

const root = "../.."

// All mutants of the table apply to the present sources, and the results are valid Go.
func TestTableApplies(t *testing.T) {
	names := map[string]bool{}
	for _, entry := range table {
		t.Run(entry.name, func(t *testing.T) {
			if names[entry.name] {
				t.Error("two mutants of the table have this name")
			}
			names[entry.name] = true
			files, err := mutants.Replaced(entry.name, entry.file, entry.before, entry.after).Patched(root)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.ParseFile(token.NewFileSet(), entry.file, files[entry.file], parser.SkipObjectResolution); err != nil {
				t.Error(err)
			}
		})
	}
}

// The same seed selects the same mutants, and another seed selects others.
func TestSampleIsSeeded(t *testing.T) {
	one, err := sites(root, 1)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := sites(root, 1)
	other, _ := sites(root, 2)
	if len(one) < 300 || one[0] != again[0] || one[0] == other[0] && one[1] == other[1] {
		t.Errorf("%d mutants; with seed 1 first %v, then %v; with seed 2 %v", len(one), one[0], again[0], other[0])
	}
}

// A mutant differs from its file in one token.
func TestSites(t *testing.T) {
	s := site{file: "a.go", line: 1, offset: 5, before: "<=", after: "<"}
	if got := s.apply("a := <= b"); got != "a := < b" {
		t.Errorf("got %q", got)
	}
}
