package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/mycompany/podmanager/hack/bench/paper"
)

// Report has all findings of a run.
type Report struct {
	Machine Machine
	Scale   float64
	Rounds  int
	// Flags are the additional flags of our controller.
	Flags []string `json:",omitempty"`
	// Workers is how many bare requests were sent at a time.
	Workers int
	// LeftOut are the workloads that were not run because they need a real node.
	LeftOut []string `json:",omitempty"`
	// Paper has the unit costs for the cluster that is only computed.
	Paper   *paper.Costs `json:",omitempty"`
	Results Results
	Goals   []Goal
}

// Machine is the machine that the bench ran on, and the software on it.
type Machine struct {
	Date, Commit, Go, Kubernetes, Platform string
	Cores                                  int
	// Busy is the share of the CPU that other processes used before the run began.
	Busy float64
}

// Write writes all files. It is called after each workload, so that an interrupted run has a report, too.
func (r *Report) Write(folder string) error {
	r.Goals = goals(r.Results)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"report.md": r.markdown(), "report.json": string(data) + "\n", "report.svg": plot(r.Results),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Missed returns how many goals were measured and not reached.
func (r *Report) Missed() int {
	missed := 0
	for _, g := range r.Goals {
		if g.Got != "" && !g.Reached {
			missed++
		}
	}
	return missed
}

// about describes the conditions under which the figures were measured.
func (r *Report) about() []string {
	m := r.Machine
	kubernetes := m.Kubernetes
	if kubernetes == "" {
		kubernetes = "not started"
	}
	lines := []string{
		fmt.Sprintf("%s, commit %s, %d cores, %s, %s, Kubernetes %s.", m.Date, m.Commit, m.Cores, m.Platform, m.Go, kubernetes),
		fmt.Sprintf("The contenders take turns on one cluster (rounds: %d; medians are shown), without limits on requests.", r.Rounds),
		"Nodes are simulated (KWOK): pods are scheduled and become Ready, but no container runs, so starting one, or giving it " +
			"another image, takes only as long as the requests. All parts of the cluster share the machine, so compare within this report only.",
	}
	if r.Results.withPrefix(RealUpdate) != nil {
		lines = append(lines, "The node of the workload real-node is a real one, with containers that run; it shares the machine, too.")
	}
	for _, name := range r.LeftOut {
		lines = append(lines, fmt.Sprintf("The workload %s is left out: it needs NODE=real.", name))
	}
	if r.Workers > 0 {
		lines = append(lines, fmt.Sprintf("Bare requests, %d at a time and without any controller, are the limit of what the API server takes.", r.Workers))
	}
	if m.Busy > 0.1 {
		lines = append(lines, fmt.Sprintf("THE MACHINE WAS BUSY with something else (%.0f %% of the CPU when the run began): do not rely on these figures.", 100*m.Busy))
	}
	if len(r.Flags) > 0 {
		lines = append(lines, fmt.Sprintf("Our controller has the flags %s.", strings.Join(r.Flags, " ")))
	}
	if r.Scale != 1 {
		lines = append(lines, fmt.Sprintf("The workloads have the scale %v: this run shows that the bench works, and its goals mean nothing.", r.Scale))
	}
	return lines
}

// Text returns the report for a terminal.
func (r *Report) Text() string {
	out := &strings.Builder{}
	for _, line := range r.about() {
		fmt.Fprintln(out, line)
	}
	for _, t := range r.tables() {
		fmt.Fprintf(out, "\n%s\n", strings.TrimSpace(t.title+"\n"+t.note))
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{t.columns}, t.rows...) {
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
		_ = w.Flush() // a strings.Builder never fails
	}
	return out.String()
}

// markdown returns the report as a Markdown page.
func (r *Report) markdown() string {
	out := &strings.Builder{}
	fmt.Fprint(out, "# Bench\n\n", strings.Join(r.about(), "\n"), "\n\n![Ratios to ReplicaSet](report.svg)\n")
	for _, t := range r.tables() {
		fmt.Fprintf(out, "\n## %s\n\n", t.title)
		if t.note != "" {
			fmt.Fprint(out, t.note, "\n\n")
		}
		rule := make([]string, len(t.columns))
		for i := range rule {
			rule[i] = "---"
			if t.isNumeric(i) {
				rule[i] = "---:"
			}
		}
		for _, row := range append([][]string{t.columns, rule}, t.rows...) {
			fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
		}
	}
	return out.String()
}
