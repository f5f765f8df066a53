package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// goals are the minimum numbers of faults that a complete campaign has to inject into PodManager's controller or its environment.
var goals = []struct {
	what string
	most int
}{{testenv.ControllerKills, 100}, {testenv.APIServerKills, 20}, {testenv.SplitBrains, 20}, {testenv.ShardHandovers, 200}}

// campaign is a series of runs.
type campaign struct {
	cluster   *lab.Cluster
	latency   *testenv.Latency
	scenarios []testenv.Scenario
	seed      uint64
	duration  time.Duration
	// timed means that the user has set the duration. The scenarios take turns until the time is up, and some may not run.
	timed bool
	// rounds is the number of runs of each scenario; 0 for the number that each scenario sets.
	rounds int
	// starve is the percentage of each CPU that other programs take.
	starve int
	folder string
	// complete means that all scenarios were selected, with enough time for the goals.
	complete, short, withoutPeer bool

	mu      sync.Mutex
	results []testenv.Result
	// running is the current number of runs. started is when the latest one started.
	running int
	started time.Time
}

// runAll makes all runs. First it runs each scenario once with all contenders, so that an interrupted campaign has covered every scenario. Then it
// makes the remaining runs of our controller, and then more rounds until the time is up. If the user has set a duration, no run starts after it,
// not even in the first round.
func (c *campaign) runAll(ctx context.Context) {
	began := time.Now()
	contenders := []testenv.Contender{testenv.Ours(c.cluster)}
	if !c.withoutPeer {
		contenders = append(contenders, testenv.Peer(c.cluster))
	}
	if c.timed {
		fmt.Println(c.expectation(len(contenders)))
	}
	if c.rounds > 0 {
		c.runRounds(ctx, contenders[0], c.over(ctx, 0, began.Add(c.duration)))
		return
	}
	for round := 0; ctx.Err() == nil; round++ {
		due := c.due(round)
		if len(due) == 0 {
			due = c.scenarios
		}
		if c.over(ctx, round, began.Add(c.duration))() || round > 0 && c.duration == 0 && len(c.due(round)) == 0 {
			return
		}
		c.runRound(ctx, due, contenders, round, began)
		contenders = contenders[:1]
	}
}

// over returns a function that reports whether no more runs of a round may start. If the user has not set a duration, every scenario runs at least
// once.
func (c *campaign) over(ctx context.Context, round int, deadline time.Time) func() bool {
	return func() bool {
		isLimited := c.duration > 0 && (c.timed || round > 0)
		return ctx.Err() != nil || isLimited && !time.Now().Before(deadline)
	}
}

// usualRun is the average duration of a run on two cores with both controllers. These run concurrently, unless the scenario disturbs the whole
// cluster.
const usualRun = 50 * time.Second

// expectation returns a message about how many of the scenarios will run in the duration that the user has set.
func (c *campaign) expectation(contenders int) string {
	parallel := 1
	if contenders == 1 {
		parallel = parallelRuns
	}
	if c.rounds > 0 {
		parallel = parallelRounds
	}
	runs := max(1, int(c.duration/usualRun)*parallel)
	if all := len(c.scenarios); runs < all {
		return fmt.Sprintf("%v is enough for about %d of %d scenarios: they run in turn until the time is up, and the summary names those that did not run.",
			c.duration, runs, all)
	}
	return fmt.Sprintf("%v should be enough for each of %d scenarios; no run starts later.", c.duration, len(c.scenarios))
}

func (c *campaign) due(round int) []testenv.Scenario {
	return slices.DeleteFunc(slices.Clone(c.scenarios), func(s testenv.Scenario) bool { return round >= max(1, s.Runs) })
}

// Runs mostly wait, so several run concurrently if there is only one contender.
const (
	parallelRuns   = 3
	parallelRounds = 8
)

// runRounds plays the scenarios repeatedly, each time with the next seed.
func (c *campaign) runRounds(ctx context.Context, contender testenv.Contender, isOver func() bool) {
	var together, alone []job
	for round := range c.rounds {
		for _, s := range c.scenarios {
			j := job{scenario: s, contender: contender, seed: c.seed + uint64(round)}
			if s.Alone {
				alone = append(alone, j)
			} else {
				together = append(together, j)
			}
		}
	}
	c.runJobs(ctx, together, parallelRounds, isOver)
	c.runJobs(ctx, alone, 1, isOver)
}

// runRound lets the contenders play the scenarios concurrently, and then, one at a time, the scenarios that disturb the whole cluster. In a timed
// campaign both kinds get their share of the time.
func (c *campaign) runRound(ctx context.Context, due []testenv.Scenario, contenders []testenv.Contender, round int, began time.Time) {
	together := map[testenv.Contender][]job{}
	var alone []job
	shared := 0
	for _, s := range due {
		if !s.Alone {
			shared++
		}
		for _, contender := range contenders {
			if j := (job{scenario: s, contender: contender, seed: c.seed + uint64(round)}); s.Alone {
				alone = append(alone, j)
			} else {
				together[contender] = append(together[contender], j)
			}
		}
	}
	parallel := 1 // only one ReplicaSet controller can run
	if len(contenders) == 1 {
		parallel = parallelRuns
	}
	end := began.Add(c.duration)
	sharedEnd := end
	if c.timed && len(due) > 0 {
		left := time.Until(end)
		sharedEnd = end.Add(-left * time.Duration(len(due)-shared) / time.Duration(len(due)))
	}
	var running sync.WaitGroup
	for _, jobs := range together {
		running.Go(func() { c.runJobs(ctx, jobs, parallel, c.over(ctx, round, sharedEnd)) })
	}
	running.Wait()
	c.runJobs(ctx, alone, 1, c.over(ctx, round, end))
}

// job is a run to be made.
type job struct {
	scenario  testenv.Scenario
	contender testenv.Contender
	seed      uint64
	// hunt, if not nil, is the mutant that the scenario has to catch.
	hunt *hunt
}

// runJobs makes runs in their order, up to parallel of them concurrently, and fewer on a machine that cannot keep up.
func (c *campaign) runJobs(ctx context.Context, jobs []job, parallel int, isOver func() bool) {
	queue := make(chan job, len(jobs))
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	var running sync.WaitGroup
	for range parallel {
		running.Go(func() {
			for j := range queue {
				for !c.enter(time.Now()) && lab.Pause(ctx, time.Second) {
				}
				c.runOne(ctx, j, isOver)
				c.leave()
			}
		})
	}
	running.Wait()
}

// A machine keeps up if no measured write took longer than keepsUp within the last latencyWindow. The effect of a new run shows within
// latencyWindow.
const (
	keepsUp       = time.Second
	latencyWindow = 5 * time.Second
)

// enter reports whether a run may start. If so, the caller must call leave afterwards. The only run may always start; another one may start only on
// a machine that keeps up.
func (c *campaign) enter(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := now.Add(-latencyWindow)
	if c.running > 0 && (c.started.After(since) || c.latency.Slowest(since, now) > keepsUp) {
		return false
	}
	c.running++
	c.started = now
	return true
}

func (c *campaign) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}

// runOne plays a scenario with a contender, if the scenario applies to the contender and there is time.
func (c *campaign) runOne(ctx context.Context, j job, isOver func() bool) {
	if isOver() || j.scenario.OursOnly && j.contender.Name() != testenv.OurName {
		return
	}
	if j.hunt != nil {
		j.hunt.run(ctx, c, j.seed)
		return
	}
	r, err := testenv.NewRun(j.scenario, j.contender, c.cluster, c.latency, j.seed, c.short)
	if err != nil {
		c.add(testenv.Result{Scenario: j.scenario.Name, Contender: j.contender.Name(), Seed: j.seed, Error: err.Error()})
		return
	}
	c.add(r.Play(ctx))
}

// add records a result and prints it.
func (c *campaign) add(r testenv.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results = append(c.results, r)
	fmt.Printf("%s  %-22s %-10s seed %d  %4.0f s  %s\n", time.Now().Format("15:04:05"), r.Scenario, r.Contender, r.Seed, r.Took.Seconds(), verdict(r))
	if r.Contender == testenv.OurName && (len(r.Violations) > 0 || r.Error != "") {
		for _, violation := range r.Violations[:min(len(r.Violations), 10)] {
			fmt.Println("    ", violation)
		}
		if r.Error != "" {
			fmt.Println("     error:", r.Error)
		}
		short := ""
		if c.short {
			short = " ARGS=-short"
		}
		fmt.Printf("     replay: make chaos SCENARIO=%s SEED=%d%s   log: %s\n", r.Scenario, r.Seed, short, r.Log)
	}
}

// verdict summarizes a result.
func verdict(r testenv.Result) string {
	switch {
	case r.Error != "":
		return "could not be run"
	case len(r.Violations) > 0:
		broken := map[string]int{}
		for _, violation := range r.Violations {
			broken[violation.Invariant]++
		}
		var parts []string
		for _, invariant := range invariants {
			if broken[invariant] > 0 {
				parts = append(parts, fmt.Sprintf("%d x %s", broken[invariant], invariant))
			}
		}
		return "violated " + strings.Join(parts, ", ")
	case len(r.Converged) == 0:
		return "held"
	default:
		return fmt.Sprintf("held, converged after %.1f s", slices.Max(r.Converged).Seconds())
	}
}

// conclude writes the report. It returns an error if PodManager or the campaign has failed.
func (c *campaign) conclude(ctx context.Context) error {
	t := newTable(c)
	fmt.Print("\n", t.text())
	if err := os.WriteFile(filepath.Join(c.folder, "report.md"), []byte(t.markdown()), 0o644); err != nil {
		return err
	}
	if err := t.writeJSON(filepath.Join(c.folder, "report.json")); err != nil {
		return err
	}
	fmt.Printf("The report is in %s (report.md, report.json), the logs of the runs are in %s.\n", c.folder, filepath.Join(c.folder, "logs"))
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return t.failure()
}
