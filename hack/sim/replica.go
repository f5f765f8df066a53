package sim

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/cmd/controller/app"
	"github.com/mycompany/podmanager/hack/sim/apiserver"
	"github.com/mycompany/podmanager/hack/sim/luck"
)

const (
	systemNamespace = "podmanager-system"
	// replicaPrefix is the prefix of the names of the controller's processes.
	replicaPrefix = "replica-"
)

// replica is a process of the controller.
type replica struct {
	*line
	settings settings
	stop     context.CancelFunc
	ended    chan struct{}
}

// start starts a process of the controller.
func (c *Cluster) start(name string) *replica {
	r := &replica{line: &line{weather: c.weather, name: name, onRequest: c.sent, onAnswer: c.answered}, settings: c.settings, ended: make(chan struct{})}
	ctx, stop := context.WithCancel(klog.NewContext(c.ctx, c.logger.WithName(name)))
	r.stop = stop
	c.running.Go(func() {
		defer close(r.ended)
		defer stop()
		// Processes do not start at the same instant. Each is busy for a while, and must not take turns with others.
		pause(ctx, time.Duration(hashOf(name)%1000)*time.Millisecond)
		if err := c.runController(ctx, r); err != nil && ctx.Err() == nil {
			c.story.tell("%s has ended: %v", name, err)
		}
	})
	return r
}

// sent handles a request of a process.
func (c *Cluster) sent(r *apiserver.Request) {
	c.story.sent(r)
	c.judge.request(r)
}

// answered handles the answer that a process gets.
func (c *Cluster) answered(by *line, r *apiserver.Request, status int) {
	c.story.answered(r, status)
	c.judge.answered(by, r, status)
}

func (c *Cluster) runController(ctx context.Context, r *replica) error {
	arguments := []string{"-metrics-bind-address=0", "-health-probe-bind-address=0", "-policy-name="}
	if r.settings.elects {
		arguments = append(arguments, "-leader-elect", "-leader-elect-resource-namespace="+systemNamespace)
	}
	if r.settings.shards > 0 {
		arguments = append(arguments, fmt.Sprint("-shards=", r.settings.shards))
	}
	luck.Seed(hashOf(r.name))
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

// kill ends a process as a power failure would. Requests that have reached the API server are carried out.
func (r *replica) kill() {
	r.line.kill()
	r.stop()
}
