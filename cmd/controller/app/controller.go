package app

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"
	clientfeatures "k8s.io/client-go/features"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/controller"
	"github.com/mycompany/podmanager/pkg/controller/access"
	"github.com/mycompany/podmanager/pkg/controller/executor"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/source"
	podmanagerinformers "github.com/mycompany/podmanager/pkg/generated/informers/externalversions"
	"github.com/mycompany/podmanager/pkg/leader"
	"github.com/mycompany/podmanager/pkg/shard"
)

// controllerRole works on PodManagers.
type controllerRole struct {
	config     *Config
	controller reconciler // nil with shards
	shards     *shards    // nil without shards
	scopes     scopes
	contact    *clients.Contact
	examine    func(context.Context) // logs which features the API server lacks
	policies   *clients.Policies     // nil if turned off
	election   *leader.Election      // nil without leader election
	leading    atomic.Bool           // whether the workers run
}

// reconciler is the part of *controller.Controller that the process needs.
type reconciler interface {
	Run(ctx context.Context, workers int) error
	Shutdown()
}

// scopes is the part of *source.Scopes that the process needs.
type scopes interface {
	Run(ctx context.Context)
	Served() <-chan struct{}
	States() []source.ScopeState
	PodManagers() []*v1.PodManager
	Relist()
}

func newControllerRole(ctx context.Context, config *Config, c *clients.Clients) (*controllerRole, error) {
	clients.LogDisabledGates(klog.FromContext(ctx), clientfeatures.FeatureGates())
	r := &controllerRole{config: config, contact: c.Contact, examine: func(context.Context) {}, policies: newPolicies(config, c)}
	if config.ResizeAndDrain { // all features are for that
		r.examine = c.LogMissingFeatures
	}
	if err := r.addController(ctx, c); err != nil {
		return nil, fmt.Errorf("the controller cannot be set up: %w", err)
	}
	if config.Lease != nil && r.shards == nil {
		lock, err := leader.NewLock(c.Lease.CoordinationV1(), *config.Lease)
		if err != nil {
			return nil, err
		}
		if r.election, err = leader.New(ctx, lock, *config.Lease); err != nil {
			return nil, err
		}
		r.election.OnRewind(r.scopes.Relist)
	}
	return r, nil
}

// newPolicies looks at policies only with rights in the cluster: without, the API server would refuse every look.
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

// addController makes the informers of each namespace, and the controller on top of them.
func (r *controllerRole) addController(ctx context.Context, c *clients.Clients) error {
	metrics.Register()
	selector, err := labels.Parse(r.config.Selector)
	if err != nil {
		return err // cannot happen: Validate has parsed the selector
	}
	objects := v1.LabelManager
	if r.config.Shards > 0 {
		objects = shard.StraySelector(r.config.Shards)
	}
	var all []source.Scope
	for _, namespace := range r.config.Namespaces {
		kube := kubeinformers.NewSharedInformerFactoryWithOptions(c.Kube, r.config.Resync, kubeinformers.WithNamespace(namespace))
		// Without a client: the scope makes the informer, with the client that decodes within bounds.
		podManagers := podmanagerinformers.NewSharedInformerFactoryWithOptions(nil, r.config.Resync, podmanagerinformers.WithNamespace(namespace))
		all = append(all, source.NewScope(c.Clients, kube, podManagers, namespace, objects, selector))
	}
	rights := access.All
	if !r.config.ResizeAndDrain {
		rights = access.WithoutResizeAndDrain
	}
	r.scopes = source.NewScopes(c.Kube, all, rights)
	settings := controller.Settings{Means: r.config.means(), Lanes: executor.NewLanes()}
	if r.config.Shards > 0 {
		if r.shards, err = newShards(r.config, c, all, settings); err == nil {
			r.shards.group.OnRewind(r.scopes.Relist)
		}
		return err
	}
	r.controller, err = controller.New(ctx, c.Clients, all, settings)
	return err
}

// run works until ctx is done, and stops in order: workers, lease, informers.
func (r *controllerRole) run(ctx context.Context) error {
	// Informers outlive the signal, because the workers need them until they have stopped.
	outlivingCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { spareGarbageCollector(outlivingCtx, r.scopes.Served()) })
	running.Go(func() { r.scopes.Run(outlivingCtx) }) // on a standby, too: it takes over with filled caches
	running.Go(func() {
		select {
		case <-r.scopes.Served(): // nothing is in a hurry before that but the caches
			r.examine(outlivingCtx)
			r.policies.Run(outlivingCtx)
		case <-outlivingCtx.Done():
		}
	})

	err := r.runWorkers(ctx)
	if leader.MustExit(err) {
		if r.controller != nil {
			go r.controller.Shutdown() // nothing waits for it, but a simulation, where the process does not exit, has nothing left behind
		}
		return err
	}
	if r.controller != nil {
		r.controller.Shutdown()
	}
	stop()
	running.Wait()
	return err
}

// runWorkers runs the workers; with leader election, only while leading.
func (r *controllerRole) runWorkers(ctx context.Context) error {
	run := func(ctx context.Context) error {
		r.leading.Store(true)
		defer r.leading.Store(false)
		return r.controller.Run(ctx, r.config.Workers)
	}
	if r.election == nil && r.shards == nil {
		return leader.RunAndDrain(ctx, run)
	}
	// A replica that cannot read the cluster would be a leader that does nothing, so it does not stand for election.
	select {
	case <-r.scopes.Served():
		if r.shards != nil {
			return r.shards.run(ctx)
		}
		return r.election.Run(ctx, run)
	case <-ctx.Done():
		return nil
	}
}

func (r *controllerRole) objects() func() []*v1.PodManager {
	if !r.config.ObjectMetrics {
		return nil
	}
	return r.ledPodManagers
}

// ledPodManagers are those that this process works on. A standby has none: it would tell the same as the leader once more.
func (r *controllerRole) ledPodManagers() []*v1.PodManager {
	if r.shards != nil {
		return r.shards.held(r.scopes.PodManagers())
	}
	if !r.leading.Load() {
		return nil
	}
	return r.scopes.PodManagers()
}
