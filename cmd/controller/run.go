package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/controller"
	podmanagerinformers "github.com/mycompany/podmanager/pkg/generated/informers/externalversions"
)

const (
	// livenessGrace is how long beyond its lease a leader that neither renews nor exits is left alive.
	livenessGrace = 20 * time.Second
	// syncPoll is how often a candidate looks whether its caches are filled.
	syncPoll = 100 * time.Millisecond
)

// process is everything that runs, ready to be started.
type process struct {
	config     *Config
	controller worker
	informers  []informerFactory
	election   *election // nil without leader election
	metrics    *server   // nil if turned off
	health     *server   // nil if turned off
}

// worker is the part of *controller.Controller that the process needs.
type worker interface {
	HasSynced() bool
	Run(ctx context.Context, workers int) error
}

// informerFactory is what the factories of both clients have in common.
type informerFactory interface {
	StartWithContext(ctx context.Context)
	Shutdown()
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
	controller.RegisterMetrics()
	selector, err := labels.Parse(p.config.Selector)
	if err != nil {
		return err // the flags were looked at before
	}
	var scopes []controller.Scope
	for _, namespace := range p.config.Namespaces {
		kube := kubeinformers.NewSharedInformerFactoryWithOptions(c.Kube, p.config.Resync,
			kubeinformers.WithNamespace(namespace), kubeinformers.WithTransform(controller.TrimPod))
		podManagers := podmanagerinformers.NewSharedInformerFactoryWithOptions(c.PodManagers, p.config.Resync,
			podmanagerinformers.WithNamespace(namespace))
		p.informers = append(p.informers, kube, podManagers)
		scopes = append(scopes, controller.NewScope(c.Clients, kube, podManagers, namespace, selector))
	}
	p.controller, err = controller.New(ctx, c.Clients, scopes)
	return err
}

// run runs the process until ctx is done, and ends it in order: workers, lease, informers, servers.
func (p *process) run(ctx context.Context) error {
	// All but the workers outlive the signal, because the workers need it to the end.
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	p.metrics.start(lasting, metricsHandler())
	p.health.start(lasting, healthHandler(p.liveChecks(), p.readyChecks()))
	for _, factory := range p.informers {
		factory.StartWithContext(lasting) // on a standby too: it takes over with its caches filled
	}

	err := p.work(ctx)
	if errors.Is(err, errLeaseLost) || errors.Is(err, errNotDrained) {
		return err
	}
	stop()
	for _, factory := range p.informers {
		factory.Shutdown()
	}
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
	synced := func(context.Context) (bool, error) { return p.controller.HasSynced(), nil }
	if err := wait.PollUntilContextCancel(ctx, syncPoll, true, synced); err != nil {
		return nil // told to stop before it came to that
	}
	return p.election.run(ctx, run)
}

// liveChecks fail when only a restart helps.
func (p *process) liveChecks() []check {
	return p.leaderChecks(livenessGrace)
}

func (p *process) readyChecks() []check {
	caches := check{"caches", func() error {
		if !p.controller.HasSynced() {
			return errors.New("not filled yet; if that lasts, the log says why")
		}
		return nil
	}}
	return append([]check{caches}, p.leaderChecks(0)...)
}

// leaderChecks fail for a leader that has not renewed its lease for longer than it lasts plus grace, never for a standby.
func (p *process) leaderChecks(grace time.Duration) []check {
	if p.election == nil {
		return nil
	}
	return []check{{"leaderElection", func() error { return p.election.elector.Check(grace) }}}
}
