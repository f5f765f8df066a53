package main

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
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
	"github.com/mycompany/podmanager/pkg/serve"
	"github.com/mycompany/podmanager/pkg/shard"
)

// process is everything that runs, ready to be started.
type process struct {
	config     *Config
	controller reconciler // nil with shards
	shards     *shards    // nil without shards
	scopes     scopes
	contact    *clients.Contact
	examine    func(context.Context) // logs which features the API server lacks
	policies   *clients.Policies     // nil if turned off
	election   *leader.Election      // nil without leader election
	metrics    *serve.Server         // nil if turned off
	health     *serve.Server         // nil if turned off
	guard      *serve.Guard          // nil if everybody may read the metrics
	webhooks   *webhooks             // nil if turned off
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

// prepare does everything at the start that can fail. Nothing runs yet when it returns.
func prepare(ctx context.Context, config *Config) (*process, error) {
	p := &process{config: config}
	config.Cluster.Wrap = leader.GuardWrites
	c, err := clients.Connect(ctx, config.Cluster)
	if err != nil {
		return nil, err
	}
	if p.metrics, err = serve.Listen("metrics", metricsFlag, config.MetricsAddress); err != nil {
		return nil, err
	}
	if config.MetricsSecure {
		encryption, err := serve.TLS(config.MetricsCertificate)
		if err != nil {
			return nil, fmt.Errorf("cannot serve metrics: %w; see -%s", err, certificateFlag)
		}
		p.metrics.Encrypt(encryption)
		p.guard = serve.NewGuard(c.Reviews)
	}
	if p.health, err = serve.Listen("health", healthFlag, config.HealthAddress); err != nil {
		return nil, err
	}
	if p.webhooks, err = newWebhooks(config, c); err != nil {
		return nil, err
	}
	build := readBuild()
	klog.FromContext(ctx).Info("Starting the PodManager controller", "version", build.version, "commit", build.commit,
		"goVersion", runtime.Version(), "server", c.Server, "namespaces", config.namespaces(), "selector", config.Selector,
		"workers", config.Workers, "leaderElection", config.Lease != nil, "shards", config.Shards, "resizeAndDrain", config.ResizeAndDrain)
	clients.LogDisabledGates(klog.FromContext(ctx), clientfeatures.FeatureGates())
	p.contact, p.examine = c.Contact, func(context.Context) {}
	if config.ResizeAndDrain { // all features are for that
		p.examine = c.LogMissingFeatures
	}
	p.policies = newPolicies(config, c)
	if err := p.addController(ctx, c); err != nil {
		return nil, fmt.Errorf("the controller cannot be set up: %w", err)
	}
	if config.Lease != nil && p.shards == nil {
		lock, err := leader.NewLock(c.Lease.CoordinationV1(), *config.Lease)
		if err != nil {
			return nil, err
		}
		if p.election, err = leader.New(ctx, lock, *config.Lease); err != nil {
			return nil, err
		}
		p.election.OnRewind(p.scopes.Relist)
	}
	return p, nil
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
func (p *process) addController(ctx context.Context, c *clients.Clients) error {
	metrics.Register()
	selector, err := labels.Parse(p.config.Selector)
	if err != nil {
		return err // cannot happen: Validate has parsed the selector
	}
	objects := v1.LabelManager
	if p.config.Shards > 0 {
		objects = shard.StraySelector(p.config.Shards)
	}
	var all []source.Scope
	for _, namespace := range p.config.Namespaces {
		kube := kubeinformers.NewSharedInformerFactoryWithOptions(c.Kube, p.config.Resync, kubeinformers.WithNamespace(namespace))
		// Without a client: the scope makes the informer, with the client that decodes within bounds.
		podManagers := podmanagerinformers.NewSharedInformerFactoryWithOptions(nil, p.config.Resync, podmanagerinformers.WithNamespace(namespace))
		all = append(all, source.NewScope(c.Clients, kube, podManagers, namespace, objects, selector))
	}
	rights := access.All
	if !p.config.ResizeAndDrain {
		rights = access.WithoutResizeAndDrain
	}
	p.scopes = source.NewScopes(c.Kube, all, rights)
	settings := controller.Settings{Means: p.config.means(), Lanes: executor.NewLanes()}
	if p.config.Shards > 0 {
		if p.shards, err = newShards(p.config, c, all, settings); err == nil {
			p.shards.group.OnRewind(p.scopes.Relist)
		}
		return err
	}
	p.controller, err = controller.New(ctx, c.Clients, all, settings)
	return err
}

// run runs the process until ctx is done, and stops it in order: workers, lease, webhooks, informers, servers.
func (p *process) run(ctx context.Context) error {
	// Informers and servers outlive the signal, because the workers need them until they have stopped.
	outlivingCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	p.metrics.Start(outlivingCtx, p.metricsHandler())
	p.health.Start(outlivingCtx, serve.Health(p.liveChecks(), p.readyChecks()))
	p.webhooks.start(outlivingCtx)
	var running, lingering sync.WaitGroup
	running.Go(func() { spareGarbageCollector(outlivingCtx, p.scopes.Served()) })
	running.Go(func() { p.scopes.Run(outlivingCtx) }) // on a standby, too: it takes over with filled caches
	running.Go(func() {
		select {
		case <-p.scopes.Served(): // nothing is in a hurry before that but the caches
			p.examine(outlivingCtx)
			p.policies.Run(outlivingCtx)
		case <-outlivingCtx.Done():
		}
	})
	running.Go(func() { p.webhooks.run(outlivingCtx) }) // on a standby, too: each replica serves webhooks
	stopping, stopServing := context.WithCancel(ctx)
	defer stopServing()
	lingering.Go(func() { p.webhooks.linger(stopping) })

	err := p.runWorkers(ctx)
	if leader.MustExit(err) {
		return err
	}
	if p.controller != nil {
		p.controller.Shutdown()
	}
	stopServing() // also if the workers have ended without a signal
	lingering.Wait()
	p.webhooks.shutDown(context.WithoutCancel(ctx))
	stop()
	running.Wait()
	p.health.ShutDown(context.WithoutCancel(ctx))
	p.metrics.ShutDown(context.WithoutCancel(ctx))
	klog.FromContext(ctx).Info("Stopped")
	return err
}

// metricsHandler serves the metrics; with a guard, to those who may.
func (p *process) metricsHandler() http.Handler {
	var list func() []*v1.PodManager
	if p.config.ObjectMetrics {
		list = p.ledPodManagers
	}
	if p.guard == nil {
		return serve.Metrics(list)
	}
	return p.guard.Protect(serve.Metrics(list))
}

// ledPodManagers are those that this process works on. A standby has none: it would tell the same as the leader once more.
func (p *process) ledPodManagers() []*v1.PodManager {
	if p.shards != nil {
		return p.shards.held(p.scopes.PodManagers())
	}
	if !p.leading.Load() {
		return nil
	}
	return p.scopes.PodManagers()
}

// runWorkers runs the workers; with leader election, only while leading.
func (p *process) runWorkers(ctx context.Context) error {
	run := func(ctx context.Context) error {
		p.leading.Store(true)
		defer p.leading.Store(false)
		return p.controller.Run(ctx, p.config.Workers)
	}
	if p.election == nil && p.shards == nil {
		return leader.RunAndDrain(ctx, run)
	}
	// A replica that cannot read the cluster would be a leader that does nothing, so it does not stand for election.
	select {
	case <-p.scopes.Served():
		if p.shards != nil {
			return p.shards.run(ctx)
		}
		return p.election.Run(ctx, run)
	case <-ctx.Done():
		return nil
	}
}
