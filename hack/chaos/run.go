package main

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

// Faults that a campaign counts.
const (
	controllerKills = "controller kills"
	apiServerKills  = "API server kills"
	etcdKills       = "etcd kills"
	splitBrains     = "split brains"
	shardHandovers  = "handovers of shards"
)

// run is one scenario with one contender and one seed.
type run struct {
	scenario  scenario
	contender contender
	cluster   *lab.Cluster
	pulse     *pulse
	seed      uint64
	short     bool
	// hunted, if not empty, is the invariant whose first violation ends the run, by end; it may be AnyInvariant of the mutants.
	hunted string
	end    context.CancelFunc

	began  time.Time
	mu     sync.Mutex
	result result
	known  map[string]bool
	log    *os.File
}

// result is the result of a run.
type result struct {
	Scenario   string
	Contender  string
	Seed       uint64
	Violations []faults.Violation
	// Converged are the times from the end of the faults until everything was as wanted.
	Converged []time.Duration
	Counts    map[string]int
	// Versions is how many versions of objects the oracle has judged, Gaps how often it may have missed some.
	Versions, Gaps int
	Took           time.Duration
	// Slowest is how long the slowest write of the pulse took: the judges allow for that.
	Slowest time.Duration
	// Error is why the run is void and proves nothing.
	Error string
	// Log is the path of the log.
	Log string
}

// breaks reports whether an invariant was violated.
func (r result) breaks(invariant string) bool {
	return slices.ContainsFunc(r.Violations, func(v faults.Violation) bool { return v.Invariant == invariant || invariant == mutants.AnyInvariant })
}

func newRun(s scenario, c contender, cluster *lab.Cluster, pulse *pulse, seed uint64, short bool) (*run, error) {
	r := &run{scenario: s, contender: c, cluster: cluster, pulse: pulse, seed: seed, short: short, began: time.Now(), known: map[string]bool{}}
	r.result = result{Scenario: s.name, Contender: c.name(), Seed: seed, Counts: map[string]int{},
		Log: filepath.Join(cluster.Folder, fmt.Sprintf("%s-%s-%d.log", s.name, c.name(), seed))}
	var err error
	r.log, err = os.Create(r.result.Log)
	return r, err
}

// play plays the scenario to its end.
func (r *run) play(ctx context.Context) result {
	defer r.log.Close()
	limit := 6 * time.Minute // a run without violations takes a fraction of it, even on a busy machine
	if r.scenario.limit > 0 {
		limit = r.scenario.limit
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r.end = cancel
	err := r.inArena(limited)
	switch {
	case ctx.Err() != nil:
		r.result.Error = "interrupted"
	case err != nil:
		r.result.Error = err.Error()
		r.logf("ERROR: %v", err)
	}
	r.result.Took = time.Since(r.began)
	r.result.Slowest = r.pulse.slowest(r.began, time.Now())
	return r.result
}

func (r *run) inArena(ctx context.Context) (err error) {
	defer caught(&err)
	a, err := newArena(ctx, r, "")
	if err != nil {
		return err
	}
	defer a.close()
	r.scenario.do(a)
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

// inParallel calls functions at the same time; each may abort.
func (a *arena) inParallel(parts ...func()) {
	errs := make([]error, len(parts))
	var running sync.WaitGroup
	for i, part := range parts {
		running.Go(func() {
			defer caught(&errs[i])
			part()
		})
	}
	running.Wait()
	a.must(errors.Join(errs...))
}

// violate records a violation, once for each invariant and object.
func (r *run) violate(namespace string, violation faults.Violation) {
	r.mu.Lock()
	key := violation.Invariant + " " + namespace + " " + violation.Object
	known := r.known[key] || r.result.breaks(r.hunted) // what the end of a run brings is no violation
	r.known[key] = true
	if !known {
		r.result.Violations = append(r.result.Violations, violation)
		if r.result.breaks(r.hunted) {
			r.end()
		}
	}
	r.mu.Unlock()
	r.logf("VIOLATION of %v", violation)
}

func (r *run) count(what string) { r.add(what, 1) }

func (r *run) add(what string, count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Counts[what] += count
}

func (r *run) converged(after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Converged = append(r.result.Converged, after)
}

func (r *run) saw(versions, gaps int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Versions += versions
	r.result.Gaps += gaps
}

func (r *run) logf(format string, arguments ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.log, "%s %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, arguments...))
}

// proxyLog adds the actions of a proxy to the log.
func (r *run) proxyLog(namespace string, entries []faults.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.log, "What the proxy of %s did:\n", namespace)
	for _, entry := range entries {
		fmt.Fprintln(r.log, entry)
	}
}
