package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
)

var invariants = []string{"I1", "I2", "I3", "I4", "I5", "I6", "I7"}

// table has the results of a campaign.
type table struct {
	Seed    uint64
	Date    string
	Took    time.Duration
	Cores   int
	Counts  map[string]int
	Rows    []row
	Results []testenv.Result
	// NoRound are the scenarios that did not run with our controller because the time was up.
	NoRound []string
	// Missed are the goals that a complete campaign has not reached.
	Missed []string
}

// row has the results of one scenario.
type row struct {
	Scenario, About string
	Ours, Peer      *column
}

// column has the results of a scenario for one contender.
type column struct {
	Runs       int
	Violations map[string]int
	Median     time.Duration
	Max        time.Duration
	Errors     int
	converged  []time.Duration
}

func newTable(c *campaign) *table {
	t := &table{Seed: c.seed, Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), Counts: map[string]int{}, Results: c.results}
	for _, s := range c.scenarios {
		r := row{Scenario: s.Name, About: s.About}
		for _, result := range c.results {
			if result.Scenario != s.Name {
				continue
			}
			t.Took += result.Took
			if result.Contender == testenv.OurName {
				r.Ours = r.Ours.with(result)
				for what, n := range result.Counts {
					t.Counts[what] += n
				}
			} else {
				r.Peer = r.Peer.with(result)
			}
		}
		t.Rows = append(t.Rows, r)
		if r.Ours == nil {
			t.NoRound = append(t.NoRound, s.Name)
		}
	}
	if c.complete {
		for _, goal := range goals {
			if t.Counts[goal.what] < goal.most {
				t.Missed = append(t.Missed, fmt.Sprintf("%d %s instead of %d", t.Counts[goal.what], goal.what, goal.most))
			}
		}
	}
	return t
}

// with adds a run to a column.
func (c *column) with(r testenv.Result) *column {
	if c == nil {
		c = &column{Violations: map[string]int{}}
	}
	c.Runs++
	if r.Error != "" {
		c.Errors++
	}
	for _, violation := range r.Violations {
		c.Violations[violation.Invariant]++
	}
	c.converged = append(c.converged, r.Converged...)
	if len(c.converged) > 0 {
		slices.Sort(c.converged)
		c.Median, c.Max = c.converged[len(c.converged)/2], c.converged[len(c.converged)-1]
	}
	return c
}

// cells returns the cells of a column in a line of the table.
func (c *column) cells() []string {
	if c == nil {
		return slices.Repeat([]string{"-"}, len(invariants)+2)
	}
	runs := strconv.Itoa(c.Runs)
	if c.Errors > 0 {
		runs += fmt.Sprintf(" (%d void)", c.Errors)
	}
	cells := []string{runs}
	for _, invariant := range invariants {
		cells = append(cells, strconv.Itoa(c.Violations[invariant]))
	}
	if len(c.converged) == 0 {
		return append(cells, "-")
	}
	return append(cells, fmt.Sprintf("%.1f s, %.1f s", c.Median.Seconds(), c.Max.Seconds()))
}

func header() []string {
	columns := slices.Concat([]string{"runs"}, invariants, []string{"converged (median, max)"})
	return slices.Concat([]string{"scenario"}, columns, columns)
}

// text returns the table for a terminal.
func (t *table) text() string {
	out := &strings.Builder{}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tPodManager"+strings.Repeat("\t", len(invariants)+2)+"ReplicaSet")
	fmt.Fprintln(w, strings.Join(header(), "\t"))
	for _, r := range t.Rows {
		fmt.Fprintln(w, strings.Join(slices.Concat([]string{r.Scenario}, r.Ours.cells(), r.Peer.cells()), "\t"))
	}
	_ = w.Flush() // a strings.Builder returns no errors
	return out.String() + "\n" + t.summary() + "\n"
}

// markdown returns the table for a file.
func (t *table) markdown() string {
	out := &strings.Builder{}
	fmt.Fprintf(out, "# Chaos, %s\n\n%s\n\n", t.Date, t.summary())
	fmt.Fprintln(out, "Violations of I1 (too many pods), I2 (something left behind), I3 (does not converge, or does not stop writing), I4 (touches a foreign pod),\nI5 (wrong status), I6 (a replica writes without the Lease of the shard) and I7 (a drain costs availability): first of PodManager, then of the ReplicaSet controller of Kubernetes under the same faults. `-`: the scenario does not fit the ReplicaSet controller.")
	fmt.Fprintf(out, "\n| %s |\n|%s\n", strings.Join(header(), " | "), strings.Repeat("---|", len(header())))
	for _, r := range t.Rows {
		fmt.Fprintf(out, "| %s |\n", strings.Join(slices.Concat([]string{r.Scenario}, r.Ours.cells(), r.Peer.cells()), " | "))
	}
	fmt.Fprintln(out, "\n| scenario | what is done |\n|---|---|")
	for _, r := range t.Rows {
		fmt.Fprintf(out, "| %s | %s |\n", r.Scenario, r.About)
	}
	return out.String()
}

// summary returns a summary of the campaign.
func (t *table) summary() string {
	runs, versions, gaps, slowest := 0, 0, 0, time.Duration(0)
	for _, r := range t.Results {
		runs++
		versions += r.Versions
		gaps += r.Gaps
		slowest = max(slowest, r.Slowest)
	}
	counts := make([]string, 0, len(goals))
	for _, goal := range goals {
		counts = append(counts, fmt.Sprintf("%d %s", t.Counts[goal.what], goal.what))
	}
	text := fmt.Sprintf("SEED=%d: %d runs on %d cores; PodManager's part had %s. The oracle judged %d versions of objects (%d gaps, where the API server was restarted). "+
		"The slowest write took %.1f s, and the limits allow for that.", t.Seed, runs, t.Cores, strings.Join(counts, ", "), versions, gaps, slowest.Seconds())
	if len(t.NoRound) > 0 {
		text += fmt.Sprintf(" %d scenarios did not run, because the time was up: %s.", len(t.NoRound), strings.Join(t.NoRound, ", "))
	}
	if len(t.Missed) > 0 {
		text += " Too few: " + strings.Join(t.Missed, ", ") + "."
	}
	return text
}

func (t *table) writeJSON(file string) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// failure returns an error if PodManager or the campaign has failed. Violations of the peer are not a failure.
func (t *table) failure() error {
	violations, void := 0, 0
	for _, r := range t.Rows {
		for _, c := range []*column{r.Ours, r.Peer} {
			if c != nil {
				void += c.Errors
			}
		}
		if r.Ours != nil {
			for _, n := range r.Ours.Violations {
				violations += n
			}
		}
	}
	switch {
	case violations > 0:
		return fmt.Errorf("PodManager has violated invariants %d times", violations)
	case void > 0:
		return fmt.Errorf("%d runs were void", void)
	case len(t.Missed) > 0:
		return fmt.Errorf("the campaign was too short: %s", strings.Join(t.Missed, ", "))
	}
	return nil
}
