package sim

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/mycompany/podmanager/cmd/controller/app"
	"github.com/mycompany/podmanager/hack/sim/apiserver"
	"github.com/mycompany/podmanager/hack/sim/luck"
	"github.com/mycompany/podmanager/pkg/world/dice"
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
	c.judge.started(name, c.settings)
	ctx, stop := context.WithCancel(klog.NewContext(c.ctx, c.logger.WithName(name)))
	r.stop = stop
	c.running.Go(func() {
		defer close(r.ended)
		defer stop()
		// The processes start at different instants. Each is busy while it starts, and its goroutines must not take turns with those of another process.
		pause(ctx, time.Duration(hashOf(name)%uint64(time.Second)))
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
	config.Cluster.Clock = c.clockOf(r.name)
	process, err := app.Prepare(ctx, config)
	if err != nil {
		return err
	}
	return process.Run(ctx)
}

// skewed is a clock that is off.
type skewed struct {
	clock.RealClock
	ahead time.Duration
}

func (s skewed) Now() time.Time                  { return s.RealClock.Now().Add(s.ahead) }
func (s skewed) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// clockOf returns the clock of a process. In some clusters each process runs on a machine whose clock is off by minutes. The dice are separate, so that
// the clocks do not change the rest of a course.
func (c *Cluster) clockOf(name string) clock.PassiveClock {
	if !c.areClocksOff {
		return clock.RealClock{}
	}
	ahead := dice.Pick(dice.New(c.seed^hashOf(name+" clock")), 0, 0, 20*time.Second, -20*time.Second, 7*time.Minute, -7*time.Minute, 40*time.Minute, -40*time.Minute)
	c.story.tell("the clock of %s is %v ahead", name, ahead)
	return skewed{ahead: ahead}
}

// kill ends a process as a power failure would. Requests that have reached the API server are carried out.
func (r *replica) kill() {
	r.line.kill()
	r.stop()
}
