package sim

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/cmd/controller/app"
)

const (
	systemNamespace = "podmanager-system"
	// replicaPrefix is what the names of the controller's processes begin with.
	replicaPrefix = "replica-"
)

// replica is a process of the controller.
type replica struct {
	*line
	stop  context.CancelFunc
	ended chan struct{}
}

// start starts a process of the controller, and goes on starting it until it runs or the cluster ends, as a Deployment does.
func (c *Cluster) start(name string) *replica {
	r := &replica{line: &line{weather: c.weather, name: name, onRequest: c.judge.request}, ended: make(chan struct{})}
	ctx, stop := context.WithCancel(klog.NewContext(c.ctx, c.logger.WithName(name)))
	r.stop = stop
	c.running.Go(func() {
		defer close(r.ended)
		defer stop()
		if err := c.runController(ctx, r); err != nil && ctx.Err() == nil {
			c.story.tell("%s has ended: %v", name, err)
		}
	})
	return r
}

func (c *Cluster) runController(ctx context.Context, r *replica) error {
	arguments := []string{"-metrics-bind-address=0", "-health-probe-bind-address=0", "-policy-name="}
	if c.settings.elects {
		arguments = append(arguments, "-leader-elect", "-leader-elect-resource-namespace="+systemNamespace)
	}
	if c.settings.shards > 0 {
		arguments = append(arguments, fmt.Sprint("-shards=", c.settings.shards))
	}
	options := app.NewOptions()
	if err := options.Parse(arguments); err != nil {
		return err
	}
	config := options.Config()
	config.Cluster.REST = c.config(c.server.Client(r.name, r.line))
	process, err := app.Prepare(ctx, config)
	if err != nil {
		return err
	}
	return process.Run(ctx)
}

// kill ends a process as a power cut does. Requests that are with the API server are carried out.
func (r *replica) kill() {
	r.line.kill()
	r.stop()
}
