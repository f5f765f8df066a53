package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/mutants"
	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
)

// huntTries is the maximum number of rounds in which a scenario tries to catch a mutant. Each round has another seed, because much of a scenario is
// random.
const huntTries = 3

// hunt is a mutant with a scenario that has to catch it.
type hunt struct {
	mutant   mutants.Mutant
	scenario testenv.Scenario
	// build builds the mutant once for all its hunts.
	build func() (program string, err error)
	// rounds is the number of rounds so far, last the result of the last one.
	rounds int
	took   time.Duration
	last   testenv.Result
}

// planHunts pairs the chosen scenarios with the chosen mutants.
func (c *campaign) planHunts(names string) ([]*hunt, error) {
	isFor := func(m mutants.Mutant) bool {
		return slices.ContainsFunc(c.scenarios, func(s testenv.Scenario) bool { return m.Scenarios[s.Name] != "" })
	}
	chosen, err := chooseMutants(names, isFor)
	if err != nil {
		return nil, err
	}
	var hunts []*hunt
	for _, s := range c.scenarios {
		for _, m := range chosen {
			if m.Scenarios[s.Name] != "" {
				hunts = append(hunts, &hunt{mutant: m, scenario: s})
			}
		}
	}
	return hunts, nil
}

// chooseMutants returns the mutants whose names match and that suit the caller. It fails if one of their patches does not apply.
func chooseMutants(names string, suits func(mutants.Mutant) bool) ([]mutants.Mutant, error) {
	pattern, err := regexp.Compile("^(" + names + ")$")
	if err != nil {
		return nil, fmt.Errorf("-mutants %s: %w", names, err)
	}
	all, err := mutants.All()
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(all, func(m mutants.Mutant) bool { return !pattern.MatchString(m.Name) || !suits(m) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no suitable mutant matches %s; -mutants list prints all mutants", names)
	}
	for _, m := range chosen {
		if _, err := m.Patched("."); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

// huntMutants lets each scenario catch its mutants, and returns an error if a mutant is not caught.
func (c *campaign) huntMutants(ctx context.Context, hunts []*hunt) error {
	builds := map[string]func() (string, error){}
	for _, h := range hunts {
		if builds[h.mutant.Name] == nil {
			builds[h.mutant.Name] = sync.OnceValues(func() (string, error) { return h.mutant.Build(ctx, ".", filepath.Join(c.folder, "mutants")) })
		}
		h.build = builds[h.mutant.Name]
	}
	together, alone := []job{}, []job{}
	for i, h := range hunts {
		// The seeds of two mutants differ, and therefore the names of their namespaces.
		j := job{scenario: h.scenario, contender: testenv.Ours(c.cluster), seed: c.seed + uint64(i)*huntTries, hunt: h}
		if h.scenario.Alone {
			alone = append(alone, j)
		} else {
			together = append(together, j)
		}
	}
	isOver := func() bool { return ctx.Err() != nil }
	c.runJobs(ctx, together, parallelRuns, isOver)
	c.runJobs(ctx, alone, 1, isOver)
	fmt.Print("\n", huntTable(hunts))
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return huntFailure(hunts)
}

// run plays the scenario with the mutant until it is caught.
func (h *hunt) run(ctx context.Context, c *campaign, seed uint64) {
	program, err := h.build()
	if err != nil {
		h.last.Error = err.Error()
	}
	began := time.Now()
	for err == nil && h.rounds < huntTries && !h.isCaught() && ctx.Err() == nil {
		cluster := c.cluster.WithController(program)
		r, err := testenv.NewRun(h.scenario, testenv.Ours(cluster), cluster, c.latency, seed+uint64(h.rounds), true)
		h.rounds++
		if err != nil {
			h.last = testenv.Result{Error: err.Error()}
			break
		}
		r.Hunted = h.mutant.Scenarios[h.scenario.Name]
		h.last = r.Play(ctx)
		if err := cluster.Repair(ctx); err != nil { // the run may have ended while a part of the control plane was down
			h.last.Error = err.Error()
		}
	}
	h.took = time.Since(began)
	fmt.Printf("%s  %-22s %-22s %4.0f s  %s\n", time.Now().Format("15:04:05"), h.scenario.Name, h.mutant.Name, h.took.Seconds(), h.verdict())
}

func (h *hunt) isCaught() bool { return h.last.Breaks(h.mutant.Scenarios[h.scenario.Name]) }

// catch returns the violation by which the mutant was caught: the last one.
func (h *hunt) catch() faults.Violation { return h.last.Violations[len(h.last.Violations)-1] }

func (h *hunt) verdict() string {
	switch {
	case h.isCaught():
		return "caught by " + h.catch().String()
	case h.last.Error != "":
		return "not caught, and the last round was void: " + h.last.Error + "   log: " + h.last.Log
	default:
		return "NOT caught   log: " + h.last.Log
	}
}

// huntTable returns a table of which scenario caught which mutant.
func huntTable(hunts []*hunt) string {
	out := &strings.Builder{}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tmutant\tcaught by\trounds\ttime\tslowest write")
	for _, h := range hunts {
		by := "nothing"
		if h.isCaught() {
			by = h.catch().Invariant
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%.0f s\t%.1f s\n", h.scenario.Name, h.mutant.Name, by, h.rounds, h.took.Seconds(), h.last.Slowest.Seconds())
	}
	_ = w.Flush() // a strings.Builder returns no errors
	return out.String()
}

// huntFailure returns an error with the mutants that their scenarios have not caught.
func huntFailure(hunts []*hunt) error {
	var missed []string
	for _, h := range hunts {
		if !h.isCaught() {
			missed = append(missed, fmt.Sprintf("%s did not catch %s (%s)", h.scenario.Name, h.mutant.Name, h.mutant.About))
		}
	}
	if len(missed) > 0 {
		return errors.New(strings.Join(missed, "; "))
	}
	return nil
}

// listMutants prints all mutants.
func listMutants() error {
	all, err := mutants.All()
	for _, m := range all {
		by := slices.Sorted(maps.Keys(m.Scenarios))
		if m.IsSimulated() {
			by = append(by, "simulation")
		}
		fmt.Printf("%-20s %s\n%-20s caught by %s\n", m.Name, m.About, "", strings.Join(by, ", "))
		if m.Unsimulated != "" {
			fmt.Printf("%-20s no simulation can catch it: %s\n", "", m.Unsimulated)
		}
	}
	return err
}
