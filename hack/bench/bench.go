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

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// bench is a run.
type bench struct {
	options
	sizes    sizes
	progress *progress
	report   figures.Report

	// What there is once the cluster is up.
	*clients
	cluster  *lab.Cluster
	censuses *census.All
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
	b.report = figures.Report{Scale: o.scale, Rounds: o.rounds, Flags: o.flags, LeftOut: leftOut, Machine: thisMachine()}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	b.watching = watching
	err := b.runAll(ctx, chosen)
	stopWatching() // before the API server goes away under the watches
	if b.cluster != nil && !o.keep {
		err = errors.Join(err, b.cluster.Down())
	}
	fmt.Print("\n", b.report.Text(), "\n")
	fmt.Println("The report is in", filepath.Join(o.out, "report.md"))
	if missed := b.report.Missed(); err == nil && o.check && o.scale == 1 && missed > 0 {
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
		if err := b.report.Write(b.out); err != nil {
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
	if b.keep {
		if err := cluster.Keep(); err != nil {
			return err
		}
	}
	if b.clients, err = newClients(cluster); err != nil {
		return err
	}
	if b.censuses, err = census.New(b.watching, b.kube, b.clients.podManagers); err != nil {
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
	b.managers = &managers{clients: b.clients, cluster: cluster, owners: b.censuses.Managers, policy: v1.RecreatePods,
		template: template, grace: b.sizes.Grace, flags: b.flags}
	b.replicaSets = &replicaSets{clients: b.clients, cluster: cluster, owners: b.censuses.ReplicaSets}
	b.deployments = &deployments{clients: b.clients, cluster: cluster, owners: b.censuses.Deployments, template: template}
	b.bare = &bare{clients: b.clients, pods: b.censuses.Pods}
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
