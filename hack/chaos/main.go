package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/hack/lab"
)

func main() {
	c := &campaign{}
	only := flag.String("scenario", "", "`names` of scenarios, as a regular expression; list prints them all")
	flag.Uint64Var(&c.seed, "seed", 0, "`number` that decides all draws; 0 for a new one, or with -short always the same")
	flag.IntVar(&c.rounds, "rounds", 0, "how `many` runs of each scenario, each with the next seed, several beside each other, and of our controller only")
	flag.DurationVar(&c.duration, "duration", 0, "`time` after which no more runs are begun; 30m for all scenarios, one round for some")
	flag.BoolVar(&c.short, "short", false, "a part of the scenarios, less of each, and our controller only: what make test runs")
	flag.BoolVar(&c.withoutPeer, "without-peer", false, "without the ReplicaSet controller beside")
	flag.StringVar(&c.folder, "out", ".chaos", "`folder` for the report and the logs of the runs")
	cluster := flag.String("cluster", "podmanager-chaos", "`name` of the cluster to make; one of this name is replaced")
	flag.Parse()
	klog.SetOutput(os.Stderr)
	klog.LogToStderr(false)
	klog.SetOutputBySeverity("INFO", discard{}) // client-go's warnings about connections that we break

	if *only == "list" {
		for _, s := range scenarios() {
			fmt.Printf("%-22s %s\n", s.name, s.about)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.choose(*only); err != nil {
		exit(err)
	}
	if err := c.conduct(ctx, *cluster); err != nil {
		exit(err)
	}
}

type discard struct{}

func (discard) Write(data []byte) (int, error) { return len(data), nil }

func exit(err error) {
	fmt.Fprintln(os.Stderr, "chaos:", err)
	os.Exit(1)
}

// shortSeed is that of the short campaign: what make test does is the same every time. New draws are for make chaos.
const shortSeed = 279918164

// choose sets what is run, and for how long.
func (c *campaign) choose(only string) error {
	switch {
	case c.seed != 0:
	case c.short:
		c.seed = shortSeed
	default:
		c.seed = uint64(time.Now().UnixNano()) % 1e9
	}
	pattern, err := regexp.Compile("^(" + only + ")$")
	if err != nil {
		return fmt.Errorf("-scenario %s: %w", only, err)
	}
	c.complete = only == "" && !c.short && c.rounds == 0
	c.withoutPeer = c.withoutPeer || c.short && only == "" || c.rounds > 0
	for _, s := range scenarios() {
		if (only == "" || pattern.MatchString(s.name)) && (s.short || !c.short || only != "") {
			if !c.complete {
				s.runs = 1
			}
			c.scenarios = append(c.scenarios, s)
		}
	}
	if len(c.scenarios) == 0 {
		return fmt.Errorf("there is no scenario %s; make chaos SCENARIO=list prints them", only)
	}
	if c.complete && c.duration == 0 {
		c.duration = 30 * time.Minute
	}
	return nil
}

// conduct runs the campaign in a cluster of its own.
func (c *campaign) conduct(ctx context.Context, name string) error {
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
	c.cluster = cluster
	c.runAll(ctx)
	return c.conclude(ctx)
}
