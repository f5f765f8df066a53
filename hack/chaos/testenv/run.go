package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/mutants"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// Names of the faults that a campaign counts.
const (
	ControllerKills = "controller kills"
	APIServerKills  = "API server kills"
	SplitBrains     = "split brains"
	ShardHandovers  = "handovers of shards"
)

// Run is one scenario with one contender and one seed.
type Run struct {
	// Latency measures how busy the machine is.
	Latency *Latency
	// Seed determines all random choices.
	Seed uint64
	// Hunted is the invariant whose first violation ends the run through end; mutants.AnyInvariant stands for all of them. It is empty if the run
	// is not a hunt for a mutant.
	Hunted string
	end    context.CancelFunc

	scenario  Scenario
	contender Contender
	cluster   *lab.Cluster
	short     bool

	began  time.Time
	mu     sync.Mutex
	result Result
	known  map[string]bool
	log    *os.File
}

// Result is the result of a run. The report contains all its fields.
type Result struct {
	Scenario  string
	Contender string
	Seed      uint64
	// Violations are in the order in which they were found.
	Violations []faults.Violation
	// Converged are the times from the end of the faults until everything was as wanted.
	Converged []time.Duration
	// Counts are the numbers of faults by kind.
	Counts map[string]int
	// Versions is how many versions of objects the oracle has checked. Gaps is how often it may have missed some.
	Versions, Gaps int
	// Took is the total duration of the run.
	Took time.Duration
	// Slowest is the duration of the slowest measured write. The limits allow for it.
	Slowest time.Duration
	// Error is why the run is void.
	Error string
	// Log is the path of the log.
	Log string
}

// Breaks reports whether an invariant was violated.
func (r Result) Breaks(invariant string) bool {
	return slices.ContainsFunc(r.Violations, func(v faults.Violation) bool { return v.Invariant == invariant || invariant == mutants.AnyInvariant })
}

// NewRun prepares a run and opens its log.
func NewRun(s Scenario, c Contender, cluster *lab.Cluster, latency *Latency, seed uint64, short bool) (*Run, error) {
	r := &Run{scenario: s, contender: c, cluster: cluster, Latency: latency, Seed: seed, short: short, began: time.Now(), known: map[string]bool{}}
	r.result = Result{Scenario: s.Name, Contender: c.Name(), Seed: seed, Counts: map[string]int{},
		Log: filepath.Join(cluster.Folder, fmt.Sprintf("%s-%s-%d.log", s.Name, c.Name(), seed))}
	var err error
	r.log, err = os.Create(r.result.Log)
	return r, err
}

// Play plays the scenario to its end.
func (r *Run) Play(ctx context.Context) Result {
	defer r.log.Close()
	limit := 6 * time.Minute // a run without violations takes a fraction of this, even on a busy machine
	if r.scenario.Limit > 0 {
		limit = r.scenario.Limit
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r.end = cancel
	err := r.inEnv(limited)
	switch {
	case ctx.Err() != nil:
		r.result.Error = "interrupted"
	case err != nil:
		r.result.Error = err.Error()
		r.logf("ERROR: %v", err)
	}
	r.result.Took = time.Since(r.began)
	r.result.Slowest = r.Latency.Slowest(r.began, time.Now())
	return r.result
}

func (r *Run) inEnv(ctx context.Context) (err error) {
	defer caught(&err)
	e, err := newEnv(ctx, r, "")
	if err != nil {
		return err
	}
	defer e.Close()
	r.scenario.Do(e)
	return nil
}

// caught turns an abort into an error.
func caught(err *error) {
	switch thrown := recover().(type) {
	case nil:
	case abort:
		*err = thrown.err
	default:
		panic(thrown)
	}
}

// InParallel calls functions concurrently. Each may abort.
func (e *Env) InParallel(parts ...func()) {
	errs := make([]error, len(parts))
	var running sync.WaitGroup
	for i, part := range parts {
		running.Go(func() {
			defer caught(&errs[i])
			part()
		})
	}
	running.Wait()
	e.Must(errors.Join(errs...))
}

// violate records a violation, once for each invariant and object.
func (r *Run) violate(namespace string, violation faults.Violation) {
	r.mu.Lock()
	key := violation.Invariant + " " + namespace + " " + violation.Object
	known := r.known[key] || r.result.Breaks(r.Hunted) // violations after the end of a hunt do not count
	r.known[key] = true
	if !known {
		r.result.Violations = append(r.result.Violations, violation)
		if r.result.Breaks(r.Hunted) {
			r.end()
		}
	}
	r.mu.Unlock()
	r.logf("VIOLATION of %v", violation)
}

// Count counts faults of one kind for the report.
func (r *Run) Count(what string, times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Counts[what] += times
}

// Converged records the time from the end of the faults until everything was as wanted.
func (r *Run) Converged(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Converged = append(r.result.Converged, after)
}

func (r *Run) saw(versions, gaps int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Versions += versions
	r.result.Gaps += gaps
}

func (r *Run) logf(format string, arguments ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.log, "%s %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, arguments...))
}

// ProxyLog adds the actions of a proxy to the log.
func (r *Run) ProxyLog(namespace string, entries []faults.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.log, "What the proxy of %s did:\n", namespace)
	for _, entry := range entries {
		fmt.Fprintln(r.log, entry)
	}
}
