package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/bench/workloads"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// campaign is a run of the program.
type campaign struct {
	options
	bench    *workloads.Bench
	progress *progress
	report   figures.Report
}

// run measures, and leaves a report even if it does not complete.
func run(ctx context.Context, o options) error {
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return err
	}
	chosen, leftOut := o.chosen()
	switch {
	case len(chosen) == 0 && len(leftOut) > 0:
		return fmt.Errorf("-only %s: %s needs NODE=real", o.only, strings.Join(leftOut, ", "))
	case len(chosen) == 0:
		return fmt.Errorf("-only %s matches no workload; the workloads are %s", o.only, workloadNames())
	}
	if o.realNode {
		if err := lab.CheckRealNode(ctx); err != nil { // fail early, not in the middle of the run
			return err
		}
	}
	c := &campaign{options: o, progress: newProgress(chosen, o)}
	c.report = figures.Report{Scale: o.Scale, Rounds: o.Rounds, Flags: o.Flags, LeftOut: leftOut, Machine: thisMachine()}
	c.bench = workloads.NewBench(o.Settings, &c.report, c.progress.print)
	err := errors.Join(c.runAll(ctx, chosen), c.bench.Close())
	fmt.Print("\n", c.report.Text(), "\n")
	fmt.Println("The report is in", filepath.Join(o.Out, "report.md"))
	if missed := c.report.Missed(); err == nil && o.check && o.Scale == 1 && missed > 0 {
		err = fmt.Errorf("%d goals are missed", missed)
	}
	return err
}

// chosen returns the workloads to run, and the names of workloads that are left out because there is no real node.
func (o options) chosen() (chosen []workloads.Workload, leftOut []string) {
	for _, w := range workloads.All {
		switch {
		case !o.only.MatchString(w.Name):
		case w.RealNode && !o.realNode:
			leftOut = append(leftOut, w.Name)
		default:
			chosen = append(chosen, w)
		}
	}
	return chosen, leftOut
}

// runAll runs the workloads. If one fails, the others are still measured.
func (c *campaign) runAll(ctx context.Context, chosen []workloads.Workload) error {
	var errs []error
	for _, w := range chosen {
		if err := c.runWorkload(ctx, w); err != nil {
			c.progress.say("%s could not be measured: %v", w.Name, err)
			errs = append(errs, fmt.Errorf("%s could not be measured: %w", w.Name, err))
		}
		if err := c.report.Write(c.Out); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(append(errs, errors.New("interrupted"))...)
		}
	}
	return errors.Join(errs...)
}

func (c *campaign) runWorkload(ctx context.Context, w workloads.Workload) error {
	if err := c.bench.Prepare(ctx, w); err != nil {
		return err
	}
	rounds := c.Rounds
	if w.Once {
		rounds = 1
	}
	for round := range rounds {
		c.progress.begin(w, round, rounds)
		if err := c.bench.Run(ctx, w); err != nil {
			c.progress.skip(w, rounds-round)
			return err
		}
		c.progress.end(w)
	}
	return nil
}
