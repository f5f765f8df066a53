package app

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/controller"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/leader"
	"github.com/mycompany/podmanager/pkg/serve"
	"github.com/mycompany/podmanager/pkg/shard"
)

// templateHashVariable has the hash of the pod template that a Deployment has made this replica from.
const templateHashVariable = "POD_TEMPLATE_HASH"

// shards runs a controller for each shard that this replica holds. Each has its own caches of pods and revisions; they share the
// PodManagers, and what is in no shard.
type shards struct {
	config   *Config
	clients  *clients.Clients
	settings controller.Settings
	// whole are the scopes of all PodManagers, and of pods and revisions that are in no shard.
	whole source.ByNamespace
	group *leader.Group
	// ending are controllers that write the events of their last syncs.
	ending sync.WaitGroup
	// memory returns memory to the operating system when it fires.
	memory *time.Timer
}

// returnMemoryAfter is how long after the last change of what this replica holds it returns memory to the operating system: that of caches
// which it no longer has, and that which filling others took. The garbage collector alone may take minutes in a process with little to do.
const returnMemoryAfter = 10 * time.Second

func newShards(config *Config, c *clients.Clients, whole []source.Scope, settings controller.Settings) (*shards, error) {
	byNamespace, err := source.NewByNamespace(whole)
	if err != nil {
		return nil, err
	}
	s := &shards{config: config, clients: c, settings: settings, whole: byNamespace, memory: time.AfterFunc(returnMemoryAfter, debug.FreeOSMemory)}
	lease := *config.Lease
	lease.RetryPeriod = min(2*lease.RetryPeriod, lease.RenewDeadline/4) // there are many Leases to renew
	s.group, err = leader.NewGroup(c.Lease.CoordinationV1(), c.LeaseWatches.CoordinationV1(), lease, config.Shards, os.Getenv(templateHashVariable),
		func(part shard.Shard) leader.Work {
			return func(ctx context.Context) error { return s.runShard(ctx, part) }
		})
	return s, err
}

// run takes part in the group until ctx is done.
func (s *shards) run(ctx context.Context) error {
	outlivingCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { s.whole.WatchForRewinds(outlivingCtx) })
	err := s.group.Run(ctx)
	stop()
	if !leader.MustExit(err) {
		running.Wait()
		s.ending.Wait()
	}
	return err
}

// runShard runs the controller of a shard until ctx is done. Its caches fill only now: what they show is newer than what the last holder
// of the shard has written.
func (s *shards) runShard(ctx context.Context, part shard.Shard) error {
	began := time.Now()
	outlivingCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var scopes []source.Scope
	var caches []cache.DoneChecker
	for namespace, whole := range s.whole {
		kube := kubeinformers.NewSharedInformerFactoryWithOptions(s.clients.Kube, s.config.Resync, kubeinformers.WithNamespace(namespace))
		scope := whole.OfShard(s.clients.Clients, kube, part)
		scopes, caches = append(scopes, scope), append(caches, scope.SyncedCheckers()...)
	}
	c, err := controller.New(ctx, s.clients.Clients, scopes, s.settings)
	if err != nil {
		return fmt.Errorf("the controller of shard %v cannot be set up: %w", part, err)
	}
	var running sync.WaitGroup
	running.Go(func() { source.NewShardScopes(scopes).Run(outlivingCtx) })
	running.Go(func() {
		if cache.WaitFor(outlivingCtx, "", caches...) {
			metrics.ShardTakeoverSeconds.Observe(time.Since(began).Seconds())
			s.memory.Reset(returnMemoryAfter)
		}
	})
	err = c.Run(ctx, s.workers())
	s.ending.Go(c.Shutdown) // nobody should wait for events
	stop()
	running.Wait()
	s.memory.Reset(returnMemoryAfter)
	return err
}

// leastWorkers is how many workers a shard has at the least.
const leastWorkers = 8

// workers is how many workers each shard has: twice its part, because not all shards have the same to do at the same time. All workers for
// each shard would cost a replica with many shards several MB.
func (s *shards) workers() int {
	return max(leastWorkers, 2*s.config.Workers/s.config.Shards)
}

// held are the PodManagers among these that this replica works on.
func (s *shards) held(managers []*v1.PodManager) []*v1.PodManager {
	held := map[shard.Shard]bool{}
	for _, part := range s.group.Held() {
		held[part] = true
	}
	var ours []*v1.PodManager
	for _, manager := range managers {
		if held[shard.Of(manager.Namespace, manager.Name, s.config.Shards)] {
			ours = append(ours, manager)
		}
	}
	return ours
}

// checks tell which shards this replica holds. They never fail: a replica without a shard stands by.
func (s *shards) checks() []serve.Check {
	return []serve.Check{{Name: "shards", Note: s.describeHeld, Run: func() (string, error) {
		if other := s.group.OtherHolder(); other != "" {
			return fmt.Sprintf("waits for %q, which holds the Lease %s, to stop", other, s.config.Lease.Name), nil
		}
		return "", nil
	}}}
}

func (s *shards) describeHeld() string {
	var indices []string
	for _, part := range s.group.Held() {
		indices = append(indices, fmt.Sprint(part.Index))
	}
	text := fmt.Sprintf("holds %d of %d", len(indices), s.config.Shards)
	if len(indices) > 0 {
		text += ": " + strings.Join(indices, ", ")
	}
	return text
}
