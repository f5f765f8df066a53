package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/bench/workloads"
)

func TestChosen(t *testing.T) {
	for name, test := range map[string]struct {
		only, node      string
		chosen, leftOut int
	}{
		"two of them":         {"^1x1000|growth", "", 2, 0},
		"all":                 {"", "", len(workloads.All) - 1, 1},
		"all and a real node": {"", "real", len(workloads.All), 0},
		"without one":         {"real-node", "", 0, 1},
		"with one":            {"real-node", "real", 1, 0},
		"as in make test-all": {"planner|1x1000|apply-storm|rollout", "", 4, 0},
	} {
		t.Setenv("NODE", test.node)
		o, err := parse([]string{"-only", test.only})
		if err != nil {
			t.Fatal(err)
		}
		chosen, leftOut := o.chosen()
		if len(chosen) != test.chosen || len(leftOut) != test.leftOut {
			t.Errorf("%s: chosen are %v, left out %v", name, chosen, leftOut)
		}
	}
	t.Setenv("NODE", "")
	err := run(t.Context(), options{only: regexp.MustCompile("real-node"), Settings: workloads.Settings{Out: t.TempDir()}})
	if err == nil || !strings.Contains(err.Error(), "needs NODE=real") {
		t.Errorf("a workload that cannot be run: %v", err)
	}
}
