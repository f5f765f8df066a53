package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/hack/chaos/scenarios"
	"github.com/mycompany/podmanager/hack/chaos/testenv"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

func main() {
	c := &campaign{}
	only := flag.String("scenario", "", "`names` of scenarios, as a regular expression; list prints them all")
	flag.Uint64Var(&c.seed, "seed", 0, "`number` that decides all random choices; 0 for a new one, or with -short for a fixed one")
	flag.IntVar(&c.rounds, "rounds", 0, "how `many` runs of each scenario with our controller only, several at a time, each with the next seed")
	flag.DurationVar(&c.duration, "duration", 0, "`time` after which no more runs start, even if some scenarios have not run; "+
		"by default every scenario runs at least once, and more rounds start for 15m")
	flag.BoolVar(&c.short, "short", false, "some of the scenarios, shortened, with our controller only, as in make test-all")
	flag.BoolVar(&c.withoutPeer, "without-peer", false, "run our controller only, not the ReplicaSet controller")
	hunted := flag.String("mutants", "", "`names` of broken controllers, as a regular expression, that the scenarios have to catch; list prints them all")
	simulated := flag.Bool("simulated", false, "let the simulation catch the mutants, instead of the scenarios")
	flag.IntVar(&c.starve, "starve", 0, "the `percentage` of each processor that another program takes during the campaign")
	flag.StringVar(&c.folder, "out", ".chaos", "`folder` for the report and the logs of the runs")
	cluster := flag.String("cluster", "podmanager-chaos", "`name` of the cluster to create; it replaces a cluster of this name")
	flag.Parse()
	klog.SetOutput(os.Stderr)
	klog.LogToStderr(false)
	klog.SetOutputBySeverity("INFO", discard{}) // client-go warns about connections that the proxy breaks

	if *only == "list" {
		for _, s := range scenarios.All() {
			fmt.Printf("%-22s %s\n", s.Name, s.About)
		}
		return
	}
	if *hunted == "list" {
		exit(listMutants())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *simulated {
		exit(simulate(ctx, cmp.Or(*hunted, ".*"), c.folder))
	}
	if err := c.choose(*only); err != nil {
		exit(err)
	}
	play := c.runAndConclude
	if *hunted != "" {
		hunts, err := c.planHunts(*hunted)
		if err != nil {
			exit(err)
		}
		play = func(ctx context.Context) error { return c.huntMutants(ctx, hunts) }
	}
	exit(c.conduct(ctx, *cluster, play))
}

type discard struct{}

func (discard) Write(data []byte) (int, error) { return len(data), nil }

// exit ends the program, with 1 after an error.
func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "chaos:", err)
	os.Exit(1)
}

// shortSeed is the seed of the short campaign, so that make test-all does the same every time. make chaos uses new seeds.
const shortSeed = 279918164

// completeTime is the minimum duration of a campaign of all scenarios.
const completeTime = 15 * time.Minute

// choose decides which scenarios run, with which seed, and for how long.
func (c *campaign) choose(only string) error {
	switch {
	case c.seed != 0:
	case c.short:
		c.seed = shortSeed
	default:
		c.seed = uint64(time.Now().UnixNano()) % 1e9
	}
	c.timed = c.duration > 0
	c.complete = only == "" && !c.short && c.rounds == 0 && (!c.timed || c.duration >= completeTime)
	c.withoutPeer = c.withoutPeer || c.short && only == "" || c.rounds > 0
	if err := c.chooseScenarios(only); err != nil {
		return err
	}
	if c.complete && !c.timed {
		c.duration = completeTime
	}
	if c.timed { // another campaign starts with another scenario
		first := int(c.seed % uint64(len(c.scenarios)))
		c.scenarios = slices.Concat(c.scenarios[first:], c.scenarios[:first])
	}
	return nil
}

// chooseScenarios takes the scenarios that a pattern names; without one, those of the short campaign or all.
func (c *campaign) chooseScenarios(only string) error {
	pattern, err := regexp.Compile("^(" + cmp.Or(only, ".*") + ")$")
	if err != nil {
		return fmt.Errorf("-scenario %s: %w", only, err)
	}
	shortOnly := c.short && only == ""
	for _, s := range scenarios.All() {
		if !pattern.MatchString(s.Name) || shortOnly && !s.Short {
			continue
		}
		if !c.complete {
			s.Runs = 1
		}
		c.scenarios = append(c.scenarios, s)
	}
	if len(c.scenarios) == 0 {
		return fmt.Errorf("there is no scenario %s; make chaos SCENARIO=list prints them", only)
	}
	return nil
}

// conduct runs the campaign in a new cluster.
func (c *campaign) conduct(ctx context.Context, name string, play func(context.Context) error) error {
	fmt.Printf("SEED=%d\n", c.seed)
	logs := filepath.Join(c.folder, "logs")
	if err := os.RemoveAll(logs); err != nil {
		return err
	}
	cluster, err := lab.Up(ctx, name, logs)
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Down() }()
	stop, err := starve(ctx, c.starve, logs)
	if err != nil {
		return err
	}
	defer stop()
	c.cluster, c.latency = cluster, testenv.MeasureLatency(ctx, cluster)
	return play(ctx)
}

func (c *campaign) runAndConclude(ctx context.Context) error {
	c.runAll(ctx)
	return c.conclude(ctx)
}
