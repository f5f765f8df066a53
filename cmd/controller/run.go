package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	clientfeatures "k8s.io/client-go/features"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/controller"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/source"
	podmanagerinformers "github.com/mycompany/podmanager/pkg/generated/informers/externalversions"
	"github.com/mycompany/podmanager/pkg/leader"
)

// livenessGrace is how long after its lease has expired a leader that neither renews nor exits still passes the liveness check.
const livenessGrace = 20 * time.Second

// process is everything that runs, ready to be started.
type process struct {
	config     *Config
	controller reconciler
	scopes     scopes
	contact    *clients.Contact
	examine    func(context.Context) // logs which features the API server lacks
	election   *leader.Election      // nil without leader election
	metrics    *server               // nil if turned off
	health     *server               // nil if turned off
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
}

// prepare does everything at the start that can fail. Nothing runs yet when it returns.
func prepare(ctx context.Context, config *Config) (*process, error) {
	p := &process{config: config}
	c, err := clients.Connect(ctx, config.Cluster)
	if err != nil {
		return nil, err
	}
	if p.metrics, err = listen("metrics", metricsFlag, config.MetricsAddress); err != nil {
		return nil, err
	}
	if p.health, err = listen("health", healthFlag, config.HealthAddress); err != nil {
		return nil, err
	}
	build := readBuild()
	klog.FromContext(ctx).Info("Starting the PodManager controller", "version", build.version, "commit", build.commit,
		"goVersion", runtime.Version(), "server", c.Server, "namespaces", config.namespaces(), "selector", config.Selector,
		"workers", config.Workers, "leaderElection", config.Lease != nil)
	clients.LogDisabledGates(klog.FromContext(ctx), clientfeatures.FeatureGates())
	p.contact, p.examine = c.Contact, c.LogMissingFeatures
	if err := p.addController(ctx, c); err != nil {
		return nil, fmt.Errorf("the controller cannot be set up: %w", err)
	}
	if config.Lease != nil {
		lock, err := leader.NewLock(c.Lease.CoordinationV1(), *config.Lease)
		if err != nil {
			return nil, err
		}
		if p.election, err = leader.New(ctx, lock, *config.Lease); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// addController makes the informers of each namespace, and the controller on top of them.
func (p *process) addController(ctx context.Context, c *clients.Clients) error {
	metrics.Register()
	selector, err := labels.Parse(p.config.Selector)
	if err != nil {
		return err // cannot happen: Validate has parsed the selector
	}
	var all []source.Scope
	for _, namespace := range p.config.Namespaces {
		kube := kubeinformers.NewSharedInformerFactoryWithOptions(c.Kube, p.config.Resync,
			kubeinformers.WithNamespace(namespace), kubeinformers.WithTransform(source.TrimPod))
		podManagers := podmanagerinformers.NewSharedInformerFactoryWithOptions(c.PodManagers, p.config.Resync,
			podmanagerinformers.WithNamespace(namespace))
		all = append(all, source.NewScope(c.Clients, kube, podManagers, namespace, selector))
	}
	p.scopes = source.NewScopes(c.Kube, all)
	p.controller, err = controller.New(ctx, c.Clients, all)
	return err
}

// run runs the process until ctx is done, and stops it in order: workers, lease, informers, servers.
func (p *process) run(ctx context.Context) error {
	// Informers and servers outlive the signal, because the workers need them until they have stopped.
	outlivingCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	p.metrics.start(outlivingCtx, metricsHandler())
	p.health.start(outlivingCtx, healthHandler(p.liveChecks(), p.readyChecks()))
	var running sync.WaitGroup
	running.Go(func() { p.scopes.Run(outlivingCtx) }) // on a standby, too: it takes over with filled caches
	running.Go(func() { p.examine(outlivingCtx) })

	err := p.runWorkers(ctx)
	if leader.MustExit(err) {
		return err
	}
	p.controller.Shutdown()
	stop()
	running.Wait()
	p.health.shutDown(context.WithoutCancel(ctx))
	p.metrics.shutDown(context.WithoutCancel(ctx))
	klog.FromContext(ctx).Info("Stopped")
	return err
}

// runWorkers runs the workers; with leader election, only while leading.
func (p *process) runWorkers(ctx context.Context) error {
	run := func(ctx context.Context) error { return p.controller.Run(ctx, p.config.Workers) }
	if p.election == nil {
		return leader.RunAndDrain(ctx, run)
	}
	// A replica that cannot read the cluster would be a leader that does nothing, so it does not stand for election.
	select {
	case <-p.scopes.Served():
		return p.election.Run(ctx, run)
	case <-ctx.Done():
		return nil
	}
}

// liveChecks fail when only a restart helps.
func (p *process) liveChecks() []check {
	return p.leaderChecks(livenessGrace)
}

// readyChecks fail while no namespace is served. They do not fail if the API server cannot be reached: a restart would not help, and a
// standby can still take over with its caches.
func (p *process) readyChecks() []check {
	checks := []check{{"namespaces", p.checkNamespaces}}
	if states := p.scopes.States(); len(states) > 1 {
		for i, state := range states {
			checks = append(checks, check{state.Name(), func() (string, error) { return p.scopes.States()[i].Why, nil }})
		}
	}
	checks = append(checks, check{"apiServer", func() (string, error) { return p.contact.Warning(), nil }})
	return append(checks, p.leaderChecks(0)...)
}

// checkNamespaces fails while no namespace is served.
func (p *process) checkNamespaces() (string, error) {
	states := p.scopes.States()
	isServed := func(s source.ScopeState) bool { return s.Phase == source.ScopeServed }
	switch {
	case len(states) == 1 && isServed(states[0]):
		return states[0].Why, nil
	case slices.ContainsFunc(states, isServed):
		return "", nil // each namespace has its own check
	case len(states) == 1:
		return "", fmt.Errorf("%s: %s", states[0].Name(), states[0].Why)
	}
	return "", errors.New("none is served")
}

// leaderChecks fail for a leader that has not renewed its lease for longer than the lease duration plus grace, never for a standby.
func (p *process) leaderChecks(grace time.Duration) []check {
	if p.election == nil {
		return nil
	}
	return []check{{"leaderElection", func() (string, error) { return "", p.election.Check(grace) }}}
}
