package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mycompany/podmanager/hack/audit"
	"github.com/mycompany/podmanager/hack/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// bench is a run.
type bench struct {
	options
	sizes    sizes
	progress *progress
	report   report

	// What there is once the cluster is up.
	*clients
	cluster  *lab.Cluster
	censuses *censuses
	audit    *audit.Log
	// watching ends the watches.
	watching context.Context
	// spaces is how many namespaces were made.
	spaces int
	// warm tells that the real node has run all images.
	warm bool

	managers    *managers
	replicaSets *replicaSets
	deployments *deployments
	bare        *bare
}

// workload is something to be measured.
type workload struct {
	name string
	// estimate is about how long a round takes at full scale on 2 cores.
	estimate time.Duration
	// once tells that it does its own repetitions.
	once bool
	// offline tells that it needs no cluster.
	offline bool
	// realNode tells that it needs a node on which containers run.
	realNode bool
	run      func(b *bench, ctx context.Context) error
}

// workloads are all, those that take the least time first.
var workloads = []workload{
	{name: "planner", estimate: 40 * time.Second, once: true, offline: true, run: (*bench).runPlanner},
	{name: "on-paper", estimate: 10 * time.Second, once: true, offline: true, run: (*bench).runPaper},
	{name: "1x1000-and-down", estimate: 100 * time.Second, run: (*bench).runOne},
	{name: "100x10", estimate: 75 * time.Second, run: (*bench).runTens},
	{name: "1000x1", estimate: 110 * time.Second, run: (*bench).runSingles},
	{name: "apply-storm", estimate: 40 * time.Second, run: (*bench).runApplies},
	{name: "rollout", estimate: 60 * time.Second, run: (*bench).runRollout},
	{name: "real-node", estimate: 2 * time.Minute, realNode: true, run: (*bench).runRealNode},
	{name: "crowd", estimate: 150 * time.Second, once: true, run: (*bench).runCrowd},
	{name: "standby", estimate: 3 * time.Minute, once: true, run: (*bench).runStandby},
	{name: "restart-and-idle", estimate: 10 * time.Minute, once: true, run: (*bench).runRestart},
	{name: "shards", estimate: 8 * time.Minute, once: true, run: (*bench).runShards},
	{name: "growth", estimate: 7 * time.Minute, once: true, run: (*bench).runGrowth},
}

func workloadNames() string {
	names := ""
	for _, w := range workloads {
		names += " " + w.name
	}
	return names[1:]
}

// run measures, and leaves a report however far it comes.
func run(ctx context.Context, o options) error {
	b := &bench{options: o, sizes: sizesAt(o.scale)}
	b.sizes.Sharded = max(b.sizes.Sharded, int(o.scale*float64(o.shardPods)))
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	chosen, leftOut := b.chosen()
	switch {
	case len(chosen) == 0 && len(leftOut) > 0:
		return fmt.Errorf("-only %s: %s needs NODE=real", o.only, strings.Join(leftOut, ", "))
	case len(chosen) == 0:
		return fmt.Errorf("-only %s: there is no such workload, but %s", o.only, workloadNames())
	}
	if o.realNode {
		if err := lab.CheckRealNode(ctx); err != nil { // rather now than in the middle of the run
			return err
		}
	}
	b.progress = newProgress(chosen, o)
	b.report = newReport(o)
	b.report.LeftOut = leftOut
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	b.watching = watching
	err := b.runAll(ctx, chosen)
	stopWatching() // before the API server goes away under the watches
	if b.cluster != nil && !o.keep {
		err = errors.Join(err, b.cluster.Down())
	}
	fmt.Print("\n", b.report.text(), "\n")
	fmt.Println("The report is in", filepath.Join(o.out, "report.md"))
	if missed := b.report.missed(); err == nil && o.check && o.scale == 1 && missed > 0 {
		err = fmt.Errorf("%d goals are missed", missed)
	}
	return err
}

// chosen are the workloads to run, and the names of those that are left out because there is no real node.
func (b *bench) chosen() (chosen []workload, leftOut []string) {
	for _, w := range workloads {
		switch {
		case !b.only.MatchString(w.name):
		case w.realNode && !b.realNode:
			leftOut = append(leftOut, w.name)
		default:
			chosen = append(chosen, w)
		}
	}
	return chosen, leftOut
}

// runAll runs the workloads. One that fails does not keep the others from being measured.
func (b *bench) runAll(ctx context.Context, chosen []workload) error {
	var errs []error
	for _, w := range chosen {
		if err := b.runWorkload(ctx, w); err != nil {
			b.progress.say("%s could not be measured: %v", w.name, err)
			errs = append(errs, fmt.Errorf("%s could not be measured: %w", w.name, err))
		}
		if err := b.report.write(b.out); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(append(errs, errors.New("interrupted"))...)
		}
	}
	return errors.Join(errs...)
}

func (b *bench) runWorkload(ctx context.Context, w workload) error {
	if b.cluster == nil && !w.offline {
		if err := b.setUp(ctx); err != nil {
			return err
		}
	}
	rounds := b.rounds
	if w.once {
		rounds = 1
	}
	for round := range rounds {
		b.progress.begin(w, round, rounds)
		if err := w.run(b, ctx); err != nil {
			b.progress.skip(w, rounds-round)
			return err
		}
		b.progress.end(w)
	}
	return nil
}

// setUp starts the cluster and gets the contenders ready.
func (b *bench) setUp(ctx context.Context) error {
	b.progress.say("starting the cluster %s", b.options.cluster)
	folder := filepath.Join(b.out, "lab")
	// Logs of an earlier run would be added to, and tell that a controller is ready which only was.
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	cluster, err := lab.Up(ctx, b.options.cluster, folder)
	if err != nil {
		return err
	}
	b.cluster = cluster
	if b.clients, err = newClients(cluster); err != nil {
		return err
	}
	if b.censuses, err = newCensuses(b.watching, b.clients); err != nil {
		return err
	}
	if b.audit, err = audit.Open(cluster.AuditLog); err != nil {
		return err
	}
	if err := b.awaitCollector(ctx); err != nil {
		return err
	}
	version, err := b.kube.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	b.report.Machine.Kubernetes = version.GitVersion
	b.managers = &managers{clients: b.clients, cluster: cluster, owners: b.censuses.managers, policy: v1.RecreatePods,
		template: template, grace: b.sizes.Grace, flags: b.flags}
	b.replicaSets = &replicaSets{clients: b.clients, cluster: cluster, owners: b.censuses.replicaSets}
	b.deployments = &deployments{clients: b.clients, cluster: cluster, owners: b.censuses.deployments, template: template}
	b.bare = &bare{clients: b.clients, pods: b.censuses.pods}
	return nil
}

// awaitCollector waits until the garbage collector watches PodManagers. It learns of a new kind within half a minute, and until
// then looks every owner of a pod up, which ReplicaSets do not suffer from.
func (b *bench) awaitCollector(ctx context.Context) error {
	if b.scale < 0.2 { // only to show that all works
		return nil
	}
	for range 120 {
		requests, err := audit.All(b.cluster.AuditLog, "podmanagers", "kube-controller-manager/")
		if err != nil {
			return err
		}
		if slices.ContainsFunc(requests, func(r audit.Request) bool { return r.What() == "watch podmanagers" }) {
			return nil
		}
		if !lab.Pause(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
	return errors.New("the garbage collector does not watch PodManagers")
}

// awaitSilence waits until the API server has next to nothing to do, so that what came before does not count.
func (b *bench) awaitSilence(ctx context.Context) error {
	for range 60 {
		if err := b.audit.Skip(); err != nil {
			return err
		}
		if !lab.Pause(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
		requests, err := b.audit.Read()
		if err != nil {
			return err
		}
		if len(requests) < 5 {
			return nil
		}
	}
	return errors.New("the cluster does not come to rest")
}
