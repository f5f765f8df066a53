package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/mycompany/podmanager/hack/bench/workloads"
)

// options are the flags.
type options struct {
	workloads.Settings
	only  *regexp.Regexp
	check bool
	// realNode is set if the cluster has a real node. An environment variable decides that, as for hack/cluster/cluster.sh.
	realNode bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func parse(arguments []string) (options, error) {
	o := options{only: regexp.MustCompile(""), realNode: os.Getenv("NODE") == "real"}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.Rounds, "rounds", 0, "how often each contender has its turn (default 3, or 1 with -scale below 0.2)")
	flags.Func("only", "run only the workloads whose names match this regular expression; they are\n"+workloadNames()+
		"\n(real-node needs NODE=real in the environment)",
		func(text string) (err error) {
			o.only, err = regexp.Compile(text)
			return err
		})
	flags.Float64Var(&o.Scale, "scale", 1, "shrink the workloads: 0.05 takes a minute or two, and shows only that the bench works")
	flags.StringVar(&o.Out, "out", ".bench", "folder for report.md, report.json, report.svg and the logs")
	flags.StringVar(&o.Cluster, "cluster", "podmanager-bench", "name of the cluster; an existing cluster of this name is replaced")
	flags.BoolVar(&o.Keep, "keep", false, "leave the cluster running")
	flags.IntVar(&o.ShardPods, "shard-pods", 20_000, "pods of the workload shards; 50000, which a goal is about, take much longer")
	flags.Func("flags", "more flags for our controller, such as '-workers 20'; the report names them", func(text string) error {
		o.Flags = strings.Fields(text)
		return nil
	})
	flags.BoolVar(&o.check, "check", false, "fail if a goal is missed; without this flag, fail only if something could not be measured")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q: bench takes no arguments, only flags", flags.Args())
	case o.Scale <= 0 || o.Scale > 1:
		return o, fmt.Errorf("-scale %v: it must be above 0 and at most 1", o.Scale)
	case o.ShardPods < 0:
		return o, fmt.Errorf("-shard-pods %d: it must not be negative", o.ShardPods)
	case o.Rounds < 0:
		return o, fmt.Errorf("-rounds %d: it must be at least 1", o.Rounds)
	case o.Rounds == 0 && o.Scale < 0.2:
		o.Rounds = 1
	case o.Rounds == 0:
		o.Rounds = 3
	}
	return o, nil
}

func workloadNames() string {
	names := ""
	for _, w := range workloads.All {
		names += " " + w.Name
	}
	return names[1:]
}
