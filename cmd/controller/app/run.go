package app

import (
	"context"
	"runtime"
	"sync"

	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/clients"
	"github.com/mycompany/podmanager/pkg/leader"
	"github.com/mycompany/podmanager/pkg/serve"
)

// Process is everything that runs, ready to be started.
type Process struct {
	servers *servers
	role    role
}

// role is what a process does besides serving, and what its servers report about this work: a controllerRole or a webhookRole.
type role interface {
	// run works until ctx is done.
	run(ctx context.Context) error
	// liveChecks returns checks that fail if only a restart helps.
	liveChecks() []serve.Check
	readyChecks() []serve.Check
	// objects returns a function that lists the PodManagers with per-object metrics. It is nil if there are no such metrics.
	objects() func() []*v1.PodManager
}

// webhookRole leaves everything to the servers. It does not check the contact with the API server, because it sends requests only to answer a
// webhook or to renew the certificate.
type webhookRole struct{}

func (webhookRole) run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (webhookRole) liveChecks() []serve.Check        { return nil }
func (webhookRole) readyChecks() []serve.Check       { return nil }
func (webhookRole) objects() func() []*v1.PodManager { return nil }

// Prepare does everything that can fail at startup. Nothing runs yet when it returns.
func Prepare(ctx context.Context, config *Config) (*Process, error) {
	config.Cluster.Wrap = leader.GuardWrites
	c, err := clients.Connect(ctx, config.Cluster)
	if err != nil {
		return nil, err
	}
	p := &Process{role: webhookRole{}}
	if p.servers, err = listen(config, c); err != nil {
		return nil, err
	}
	build := readBuild()
	logger := klog.FromContext(ctx).WithValues("version", build.version, "commit", build.commit, "goVersion", runtime.Version(),
		"server", c.Server, "namespaces", config.namespaces(), "selector", config.Selector, "resizeAndDrain", config.ResizeAndDrain)
	if config.WebhooksOnly {
		logger.Info("Starting the PodManager webhooks")
		return p, nil
	}
	logger.Info("Starting the PodManager controller", "workers", config.Workers, "leaderElection", config.Lease != nil, "shards", config.Shards)
	if p.role, err = newControllerRole(ctx, config, c); err != nil {
		return nil, err
	}
	return p, nil
}

// Run runs the process until ctx is done. The work and the webhooks stop at the same time, and health and metrics stop after both.
func (p *Process) Run(ctx context.Context) error {
	p.servers.start(ctx, p.role)
	serving, stopServing := context.WithCancel(ctx)
	defer stopServing()
	var webhooks sync.WaitGroup
	webhooks.Go(func() { p.servers.webhooks.run(serving) }) // on a standby, too: each replica serves webhooks

	err := p.role.run(ctx)
	if leader.MustExit(err) {
		return err
	}
	stopServing() // the work may have ended without a signal
	webhooks.Wait()
	p.servers.shutDown(context.WithoutCancel(ctx))
	klog.FromContext(ctx).Info("Stopped")
	return err
}
