package app

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/leader"
	"github.com/mycompany/podmanager/pkg/serve"
	"github.com/mycompany/podmanager/pkg/shard"
)

// templateHashVariable is the variable with the hash of the pod template from which a Deployment created this replica.
const templateHashVariable = "POD_TEMPLATE_HASH"

// shards runs a controller for each shard that this replica holds. Each shard has its own caches of pods and revisions. All of them share the
// caches of the role, which have the PodManagers and the objects that are in no shard.
type shards struct {
	config  *Config
	clients *clients.Clients
	role    *controllerRole
	group   *leader.Group
}

func newShards(config *Config, c *clients.Clients, role *controllerRole) (s *shards, err error) {
	s = &shards{config: config, clients: c, role: role}
	lease := *config.Lease
	lease.RetryPeriod = min(2*lease.RetryPeriod, lease.RenewDeadline/4) // there are many Leases to renew
	s.group, err = leader.NewGroup(c.Lease.CoordinationV1(), c.LeaseWatches.CoordinationV1(), lease, config.Shards, os.Getenv(templateHashVariable),
		func(part shard.Shard) leader.Work {
			return func(ctx context.Context) error {
				return role.caches.use(ctx, func(ctx context.Context, whole []source.Scope) error { return s.runShard(ctx, part, whole) })
			}
		})
	return s, err
}

// runShard runs the controller of a shard until ctx is done. Its caches are filled only now, so that they include everything that the
// previous holder of the shard has written.
func (s *shards) runShard(ctx context.Context, part shard.Shard, all []source.Scope) error {
	began := time.Now()
	outlivingCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var scopes []source.Scope
	var caches []cache.DoneChecker
	var running sync.WaitGroup
	for _, whole := range all {
		scope := whole.OfShard(s.clients.Clients, s.config.Resync, part)
		scopes, caches = append(scopes, scope), append(caches, scope.SyncedCheckers()...)
		running.Go(func() { scope.Run(outlivingCtx) })
	}
	running.Go(func() {
		if cache.WaitFor(outlivingCtx, "", caches...) {
			metrics.ShardTakeoverSeconds.Observe(time.Since(began).Seconds())
		}
	})
	err := s.role.work(ctx, scopes, s.workers())
	stop()
	running.Wait()
	return err
}

// leastWorkers is the minimum number of workers of a shard.
const leastWorkers = 8

// workers returns the number of workers for each shard. It is twice the shard's share, because not all shards are equally busy at the same
// time. Giving all workers to each shard would cost a replica with many shards several MB.
func (s *shards) workers() int {
	return max(leastWorkers, 2*s.config.Workers/s.config.Shards)
}

// held returns the PodManagers that this replica works on.
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

// checks returns a check that reports which shards this replica holds. It never fails: a replica without a shard is a standby.
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
