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

	"github.com/mycompany/podmanager/pkg/controller"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/source"
	podmanagerinformers "github.com/mycompany/podmanager/pkg/generated/informers/externalversions"
)

// livenessGrace is how long beyond its lease a leader that neither renews nor exits is left alive.
const livenessGrace = 20 * time.Second

// process is everything that runs, ready to be started.
type process struct {
	config     *Config
	controller worker
	scopes     scopes
	hearing    *hearing
	examine    func(context.Context) // says in the log what the API server lacks
	election   *election             // nil without leader election
	metrics    *server               // nil if turned off
	health     *server               // nil if turned off
}

// worker is the part of *controller.Controller that the process needs.
type worker interface {
	Run(ctx context.Context, workers int) error
	Shutdown()
}

// scopes is the part of *controller.Scopes that the process needs.
type scopes interface {
	Run(ctx context.Context)
	Served() <-chan struct{}
	States() []source.ScopeState
}

// prepare does all that can fail at the start. Nothing runs yet when it returns.
func prepare(ctx context.Context, config *Config) (*process, error) {
	p := &process{config: config}
	c, err := connect(ctx, config)
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
		"goVersion", runtime.Version(), "server", c.server, "namespaces", config.namespaces(), "selector", config.Selector,
		"workers", config.Workers, "leaderElection", config.Lease != nil)
	tellGates(klog.FromContext(ctx), clientfeatures.FeatureGates())
	p.hearing, p.examine = c.hearing, func(ctx context.Context) { examine(ctx, c.PodManagers.Discovery()) }
	if err := p.addController(ctx, c); err != nil {
		return nil, fmt.Errorf("the controller cannot be set up: %w", err)
	}
	if config.Lease != nil {
		lock, err := newLeaseLock(c.lease.CoordinationV1(), config.Lease)
		if err != nil {
			return nil, err
		}
		if p.election, err = newElection(ctx, lock, config.Lease); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// addController makes the informers of each namespace, and the controller on top of them.
func (p *process) addController(ctx context.Context, c *clients) error {
	metrics.Register()
	selector, err := labels.Parse(p.config.Selector)
	if err != nil {
		return err // the flags were looked at before
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

// run runs the process until ctx is done, and ends it in order: workers, lease, informers, servers.
func (p *process) run(ctx context.Context) error {
	// All but the workers outlive the signal, because the workers need it to the end.
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	p.metrics.start(lasting, metricsHandler())
	p.health.start(lasting, healthHandler(p.liveChecks(), p.readyChecks()))
	var running sync.WaitGroup
	running.Go(func() { p.scopes.Run(lasting) }) // on a standby too: it takes over with its caches filled
	running.Go(func() { p.examine(lasting) })

	err := p.work(ctx)
	if errors.Is(err, errLeaseLost) || errors.Is(err, errNotDrained) {
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

// work runs the workers, if need be only while leading.
func (p *process) work(ctx context.Context) error {
	run := func(ctx context.Context) error { return p.controller.Run(ctx, p.config.Workers) }
	if p.election == nil {
		return runAndDrain(ctx, run)
	}
	// A replica that cannot read the cluster would be a leader that does nothing, so it does not stand.
	select {
	case <-p.scopes.Served():
		return p.election.run(ctx, run)
	case <-ctx.Done():
		return nil
	}
}

// liveChecks fail when only a restart helps.
func (p *process) liveChecks() []check {
	return p.leaderChecks(livenessGrace)
}

// readyChecks fail while nothing is served. An API server that is away does not count: a restart would not bring it back, and
// what there is in the caches is still good to take over with.
func (p *process) readyChecks() []check {
	checks := []check{{"namespaces", p.checkNamespaces}}
	if states := p.scopes.States(); len(states) > 1 {
		for i, state := range states {
			checks = append(checks, check{state.Name(), func() (string, error) { return p.scopes.States()[i].Why, nil }})
		}
	}
	checks = append(checks, check{"apiServer", func() (string, error) { return p.hearing.note(), nil }})
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
		return "", nil // each has a line of its own
	case len(states) == 1:
		return "", fmt.Errorf("%s: %s", states[0].Name(), states[0].Why)
	}
	return "", errors.New("none is served")
}

// leaderChecks fail for a leader that has not renewed its lease for longer than it lasts plus grace, never for a standby.
func (p *process) leaderChecks(grace time.Duration) []check {
	if p.election == nil {
		return nil
	}
	return []check{{"leaderElection", func() (string, error) { return "", p.election.elector.Check(grace) }}}
}
