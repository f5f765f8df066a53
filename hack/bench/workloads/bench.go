package workloads

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/audit"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Settings has what users choose about the measurement itself.
type Settings struct {
	// Rounds is how many turns each contender has.
	Rounds int
	// Scale shrinks the workloads, if it is below 1.
	Scale float64
	// ShardPods is how many pods the replicas of the workload shards have, before Scale.
	ShardPods int
	// Flags are additional flags for our controller, for experiments.
	Flags []string
	// Cluster is the name of the cluster, and Out is the folder for its logs and for the report. Keep leaves the cluster running.
	Cluster, Out string
	Keep         bool
}

// Bench is the environment of the workloads: a cluster, the contenders on it, and the report that collects the measurements.
type Bench struct {
	settings Settings
	sizes    sizes
	report   *figures.Report
	// print shows a line of progress.
	print func(line string)

	// The following fields are set once the cluster is running.
	*clients
	cluster  *lab.Cluster
	censuses *census.All
	audit    *audit.Log
	// stopWatching ends the watches.
	stopWatching context.CancelFunc
	// spaces is the number of namespaces created so far.
	spaces int
	// warm is set once the real node has run all images.
	warm bool

	managers    *managers
	replicaSets *replicaSets
	deployments *deployments
	bare        *bare
}

// NewBench returns a bench without a cluster, which is started by the first workload that needs one. Workloads add their results to the report, and
// print them.
func NewBench(settings Settings, report *figures.Report, print func(line string)) *Bench {
	b := &Bench{settings: settings, sizes: sizesAt(settings.Scale), report: report, print: print}
	b.sizes.Sharded = max(b.sizes.Sharded, int(settings.Scale*float64(settings.ShardPods)))
	return b
}

// Prepare starts the cluster if the workload needs one and it is not running yet.
func (b *Bench) Prepare(ctx context.Context, w Workload) error {
	if b.cluster != nil || w.offline {
		return nil
	}
	return b.setUp(ctx)
}

// Run runs a round of a prepared workload.
func (b *Bench) Run(ctx context.Context, w Workload) error { return w.run(b, ctx) }

// Close stops the cluster, unless it is to be kept.
func (b *Bench) Close() error {
	if b.stopWatching != nil {
		b.stopWatching() // before the API server stops serving the watches
	}
	if b.cluster == nil || b.settings.Keep {
		return nil
	}
	return b.cluster.Down()
}

// say prints what is known about a workload while it runs. It formats the text itself, so that go vet checks the format in all calls.
func (b *Bench) say(format string, args ...any) { b.print(fmt.Sprintf(format, args...)) }

// setUp starts the cluster and prepares the contenders.
func (b *Bench) setUp(ctx context.Context) error {
	b.say("starting the cluster %s", b.settings.Cluster)
	folder := filepath.Join(b.settings.Out, "lab")
	// The logs of an earlier run say that its controllers are ready. New logs would be appended to them, and a new controller would seem ready at once.
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	cluster, err := lab.Up(ctx, b.settings.Cluster, folder)
	if err != nil {
		return err
	}
	b.cluster = cluster
	if b.settings.Keep {
		if err := cluster.Keep(); err != nil {
			return err
		}
	}
	if b.clients, err = newClients(cluster); err != nil {
		return err
	}
	var watching context.Context
	watching, b.stopWatching = context.WithCancel(ctx)
	if b.censuses, err = census.New(watching, b.kube, b.clients.podManagers); err != nil {
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
		template: template, grace: b.sizes.Grace, flags: b.settings.Flags}
	b.replicaSets = &replicaSets{clients: b.clients, cluster: cluster, owners: b.censuses.ReplicaSets}
	b.deployments = &deployments{clients: b.clients, cluster: cluster, owners: b.censuses.Deployments, template: template}
	b.bare = &bare{clients: b.clients, pods: b.censuses.Pods}
	return nil
}

// awaitCollector waits until the garbage collector watches PodManagers. It discovers a new kind within half a minute. Until then it looks up the
// owner of every pod, which it does not have to do for ReplicaSets.
func (b *Bench) awaitCollector(ctx context.Context) error {
	if b.settings.Scale < 0.2 { // a smoke test
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

// awaitSilence waits until the API server is almost idle, so that earlier work does not count.
func (b *Bench) awaitSilence(ctx context.Context) error {
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
