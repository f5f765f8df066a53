package app

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/controller"
	"github.com/mycompany/podmanager/pkg/controller/access"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/leader"
	"github.com/mycompany/podmanager/pkg/shard"
)

// controllerRole works on PodManagers.
type controllerRole struct {
	config   *Config
	caches   *caches
	nodes    *source.Nodes
	shards   *shards // nil without sharding
	contact  *clients.Contact
	examine  func(context.Context) // logs which features the API server lacks
	policies *clients.Policies     // nil if turned off
	election *leader.Election      // nil without leader election
	leading  atomic.Bool           // whether the workers run
	// newController creates the controller that works on the caches.
	newController func(context.Context, []source.Scope) (reconciler, error)
	// ending waits for controllers that are writing the events of their last syncs.
	ending sync.WaitGroup
}

// reconciler is the part of *controller.Controller that the process needs.
type reconciler interface {
	Run(ctx context.Context, workers int) error
	Shutdown()
}

func newControllerRole(ctx context.Context, config *Config, c *clients.Clients) (*controllerRole, error) {
	clients.LogDisabledGates(klog.FromContext(ctx), clientfeatures.FeatureGates())
	metrics.Register()
	c.Nodes = source.NewNodes(c.Kube, c.Clock)
	selector, err := labels.Parse(config.Selector)
	if err != nil {
		return nil, err // cannot happen: Validate has parsed the selector
	}
	r := &controllerRole{config: config, nodes: c.Nodes, contact: c.Contact, examine: func(context.Context) {}, policies: newPolicies(config, c),
		caches: newCaches(func() (scopes, []source.Scope) { return newScopes(config, c, selector) })}
	if config.ResizeAndDrain { // without resizing, the controller needs none of the features
		r.examine = c.LogMissingFeatures
	}
	r.newController = func(ctx context.Context, all []source.Scope) (reconciler, error) {
		return controller.New(ctx, c.Clients, all, config.capabilities(), config.Spreading, c.Clock)
	}
	switch {
	case config.Shards > 0:
		r.shards, err = newShards(config, c, r)
	case config.Lease != nil:
		var lock resourcelock.Interface
		if lock, err = leader.NewLock(c.Lease.CoordinationV1(), *config.Lease); err == nil {
			r.election, err = leader.New(ctx, lock, *config.Lease)
		}
	}
	return r, err
}

// newPolicies returns Policies that read the rules only if the controller has cluster-wide rights. Otherwise the API server would refuse every
// read.
func newPolicies(config *Config, c *clients.Clients) *clients.Policies {
	switch {
	case config.PolicyName == "":
		return nil
	case config.hasAllNamespaces():
		return clients.NewPolicies(c.Kube.AdmissionregistrationV1(), config.PolicyName)
	default:
		return clients.UnknownPolicies()
	}
}

// newScopes creates the informers of each namespace.
func newScopes(config *Config, c *clients.Clients, selector labels.Selector) (scopes, []source.Scope) {
	objects := v1.LabelManager
	if config.Shards > 0 {
		objects = shard.UnshardedSelector(config.Shards)
	}
	var all []source.Scope
	for _, namespace := range config.Namespaces {
		all = append(all, source.NewScope(c.Clients, config.Resync, namespace, objects, selector))
	}
	rights := access.All
	if !config.ResizeAndDrain {
		rights = access.WithoutResizeAndDrain
	}
	return source.NewScopes(c.Kube, all, rights), all
}

// run works until ctx is done, and stops in order: workers, lease, informers.
func (r *controllerRole) run(ctx context.Context) error {
	// Informers outlive the signal, because the workers need them until they have stopped.
	outlivingCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { spareGarbageCollector(outlivingCtx, r.caches.awaitServed) })
	running.Go(func() { r.caches.run(outlivingCtx) }) // on a standby, too: it takes over with filled caches
	running.Go(func() {
		_ = r.caches.use(outlivingCtx, func(ctx context.Context, _ []source.Scope) error { r.nodes.Run(ctx); return nil })
	})
	running.Go(func() {
		if r.caches.awaitServed(outlivingCtx) { // until then, only the caches are urgent
			r.examine(outlivingCtx)
			r.policies.Run(outlivingCtx)
		}
	})

	err := r.runWorkers(ctx)
	if leader.MustExit(err) {
		return err
	}
	r.ending.Wait()
	stop()
	running.Wait()
	return err
}

// runWorkers runs the workers; with leader election, only while leading.
func (r *controllerRole) runWorkers(ctx context.Context) error {
	switch {
	case r.election == nil && r.shards == nil:
		return r.lead(ctx)
	case !r.caches.awaitServed(ctx): // a replica that cannot read the cluster would be an idle leader
		return nil
	case r.shards != nil:
		return r.shards.group.Run(ctx)
	}
	return r.election.Run(ctx, r.lead)
}

// lead works on all PodManagers until ctx is done.
func (r *controllerRole) lead(ctx context.Context) error {
	r.leading.Store(true)
	defer r.leading.Store(false)
	return r.caches.use(ctx, func(ctx context.Context, all []source.Scope) error { return r.work(ctx, all, r.config.Workers) })
}

// work runs a controller on caches until ctx is done.
func (r *controllerRole) work(ctx context.Context, all []source.Scope, workers int) error {
	c, err := r.newController(ctx, all)
	if err != nil {
		return fmt.Errorf("the controller cannot be set up: %w", err)
	}
	defer r.ending.Go(c.Shutdown) // the Lease is released without waiting for the last events
	return c.Run(ctx, workers)
}

func (r *controllerRole) objects() func() []*v1.PodManager {
	if !r.config.ObjectMetrics {
		return nil
	}
	return r.ledPodManagers
}

// ledPodManagers returns the PodManagers that this process works on. A standby has none, because it would only repeat the leader's metrics.
func (r *controllerRole) ledPodManagers() []*v1.PodManager {
	if r.shards != nil {
		return r.shards.held(r.caches.present.Load().PodManagers())
	}
	if !r.leading.Load() {
		return nil
	}
	return r.caches.present.Load().PodManagers()
}
