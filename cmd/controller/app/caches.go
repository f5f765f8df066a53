package app

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/leader"
)

// scopes is the part of *source.Scopes that the process needs.
type scopes interface {
	Run(ctx context.Context) error
	Served() <-chan struct{}
	States() []source.ScopeState
	PodManagers() []*v1.PodManager
}

// caches has the informers of the process. After the API server has gone back in time, run discards the informers and creates new ones. use then runs
// the work again, with a new controller, because the queue and the memory of the old one are outdated, too.
type caches struct {
	build   func() (scopes, []source.Scope)
	present atomic.Pointer[generation]
}

// generation has informers that are created and discarded together.
type generation struct {
	scopes
	all  []source.Scope
	life context.Context // done when there is a newer generation
	end  context.CancelFunc
}

func newCaches(build func() (scopes, []source.Scope)) *caches {
	c := &caches{build: build}
	c.renew()
	return c
}

func (c *caches) renew() {
	next := &generation{}
	next.scopes, next.all = c.build()
	next.life, next.end = context.WithCancel(context.Background())
	c.present.Store(next)
}

// run keeps the caches filled until ctx is done. If the API server goes back in time repeatedly, run waits longer each time before it fills the
// next caches.
func (c *caches) run(ctx context.Context) {
	delay := wait.Backoff{Duration: time.Second, Factor: 2, Steps: 6, Jitter: 0.2}.DelayWithReset(clock.RealClock{}, 5*time.Minute)
	for {
		last := c.present.Load()
		err := last.Run(ctx)
		if ctx.Err() != nil {
			return
		}
		klog.FromContext(ctx).Info("The API server went back in time, as after an etcd restore; rebuilding all caches", "why", err)
		metrics.Rewinds.Inc()
		c.renew()
		last.end()
		select {
		case <-time.After(delay()):
		case <-ctx.Done():
			return
		}
	}
}

// awaitServed waits until a namespace is served. It returns false if ctx is done first.
func (c *caches) awaitServed(ctx context.Context) bool {
	for {
		present := c.present.Load()
		select {
		case <-present.Served():
			return true
		case <-present.life.Done():
		case <-ctx.Done():
			return false
		}
	}
}

// use runs work on the caches until ctx is done. If the caches are discarded, use stops the work at once, and runs it on the new caches.
func (c *caches) use(ctx context.Context, work func(ctx context.Context, all []source.Scope) error) error {
	for {
		present := c.present.Load()
		workCtx, stop := context.WithCancelCause(ctx)
		unbind := context.AfterFunc(present.life, func() { stop(controller.ErrStopNow) }) //nolint:contextcheck // the caches do not end with ctx
		err := leader.RunAndDrain(workCtx, func(ctx context.Context) error { return work(ctx, present.all) })
		unbind()
		stop(nil)
		if present.life.Err() == nil || ctx.Err() != nil || leader.MustExit(err) {
			return err
		}
	}
}
