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

	"github.com/mycompany/podmanager/hack/chaos/arena"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// goals are the faults that PodManager's controller must meet at the least in a complete campaign.
var goals = []struct {
	what string
	most int
}{{arena.ControllerKills, 100}, {arena.APIServerKills, 20}, {arena.SplitBrains, 20}, {arena.ShardHandovers, 200}}

// campaign is a series of runs.
type campaign struct {
	cluster   *lab.Cluster
	pulse     *arena.Pulse
	scenarios []arena.Scenario
	seed      uint64
	duration  time.Duration
	// timed tells that the user has given the duration: the scenarios take turns until it is over, and some may have no round.
	timed bool
	// rounds is how many runs to make of each scenario; 0 for the numbers of the scenarios.
	rounds int
	// starve is how many percent of each processor other programs take.
	starve int
	folder string
	// complete tells that all scenarios were asked for, and enough time for the goals.
	complete, short, withoutPeer bool

	mu      sync.Mutex
	results []arena.Result
	// running is how many runs there are at the moment, started when the last one has started.
	running int
	started time.Time
}

// runAll makes all runs: first each scenario once with all contenders, so that an interrupted campaign has seen every scenario; then
// the further runs of our controller, and then more rounds until the time is up. If the user has given the time, no run starts after it,
// not even in the first round.
func (c *campaign) runAll(ctx context.Context) {
	began := time.Now()
	contenders := []arena.Contender{arena.Ours(c.cluster)}
	if !c.withoutPeer {
		contenders = append(contenders, arena.Peer(c.cluster))
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

// over returns a function that reports whether no more runs of a round may start. Without a time of the user, every scenario has one round.
func (c *campaign) over(ctx context.Context, round int, deadline time.Time) func() bool {
	return func() bool {
		isLimited := c.duration > 0 && (c.timed || round > 0)
		return ctx.Err() != nil || isLimited && !time.Now().Before(deadline)
	}
}

// usualRun is how long a run takes on two cores, on average, with both controllers, which run at the same time, unless the scenario disturbs the
// whole cluster.
const usualRun = 50 * time.Second

// expectation says how many of the scenarios will have a round in the time that the user has given.
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
		return fmt.Sprintf("%v is enough for about %d of %d scenarios: they take turns until the time is over, and the end names those that had no round.", c.duration, runs, all)
	}
	return fmt.Sprintf("%v should be enough for each of %d scenarios; no run starts later.", c.duration, len(c.scenarios))
}

func (c *campaign) due(round int) []arena.Scenario {
	return slices.DeleteFunc(slices.Clone(c.scenarios), func(s arena.Scenario) bool { return round >= max(1, s.Runs) })
}

// Runs mostly wait, so several run at the same time if there is only one contender.
const (
	parallelRuns   = 3
	parallelRounds = 8
)

// runRounds plays the scenarios again and again, each time with the next seed.
func (c *campaign) runRounds(ctx context.Context, contender arena.Contender, isOver func() bool) {
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

// runRound lets the contenders play the scenarios at the same time; and then, one after the other, the scenarios that disturb the
// whole cluster. In a timed campaign both kinds have their share of the time, from when it began.
func (c *campaign) runRound(ctx context.Context, due []arena.Scenario, contenders []arena.Contender, round int, began time.Time) {
	together := map[arena.Contender][]job{}
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

// job is a run to make.
type job struct {
	scenario  arena.Scenario
	contender arena.Contender
	seed      uint64
	// hunt, if not nil, is the mutant that the scenario has to catch.
	hunt *hunt
}

// runJobs makes runs in their order, up to parallel of them at the same time, and fewer on a machine that cannot keep up.
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

// A machine keeps up if no write of the pulse took longer than keepsUp within the last pulseWindow. So long it takes to see what a run does to it.
const (
	keepsUp     = time.Second
	pulseWindow = 5 * time.Second
)

// enter tells whether a run may start, which then has to leave: at once if there is no other, and else only on a machine that keeps up.
func (c *campaign) enter(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := now.Add(-pulseWindow)
	if c.running > 0 && (c.started.After(since) || c.pulse.Slowest(since, now) > keepsUp) {
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

// runOne plays a scenario with a contender, if the scenario fits the contender and there is time.
func (c *campaign) runOne(ctx context.Context, j job, isOver func() bool) {
	if isOver() || j.scenario.OursOnly && j.contender.Name() != arena.OurName {
		return
	}
	if j.hunt != nil {
		j.hunt.run(ctx, c, j.seed)
		return
	}
	r, err := arena.NewRun(j.scenario, j.contender, c.cluster, c.pulse, j.seed, c.short)
	if err != nil {
		c.add(arena.Result{Scenario: j.scenario.Name, Contender: j.contender.Name(), Seed: j.seed, Error: err.Error()})
		return
	}
	c.add(r.Play(ctx))
}

// add records a result and prints it.
func (c *campaign) add(r arena.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results = append(c.results, r)
	fmt.Printf("%s  %-22s %-10s seed %d  %4.0f s  %s\n", time.Now().Format("15:04:05"), r.Scenario, r.Contender, r.Seed, r.Took.Seconds(), verdict(r))
	if r.Contender == arena.OurName && (len(r.Violations) > 0 || r.Error != "") {
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

// verdict is a result in a few words.
func verdict(r arena.Result) string {
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

// conclude writes the report, and fails if PodManager or the campaign itself has failed.
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
