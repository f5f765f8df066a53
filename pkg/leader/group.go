package leader

import (
	"context"
	"errors"
	"fmt"
	rand "math/rand/v2"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/shard"
)

// Group shares the shards among replicas: each holds the Leases of some shards, and works on those alone.
//
// A Lease for each replica tells who is alive, and shard.View.Assign who should hold which shard. Only the Lease of a shard decides who
// may act. The Lease of a single leader is held by all replicas of the group together, so that neither a single leader nor a group with
// another number of shards is at work at the same time.
type Group struct {
	config   Config
	count    int
	member   member
	work     func(shard.Shard) Work
	client   coordinationclient.LeasesGetter
	observer *observer
	names    names

	mu    sync.Mutex
	terms map[shard.Shard]*term
	// kept is a time at which the Lease of the group was not yet renewed for the last time, by whichever replica; lastLook is the last look
	// at it, of the goroutine that renews it.
	kept     time.Time
	lastLook look
	// otherHolder is who holds the Lease of the group instead; empty if nobody does.
	otherHolder string
	// ended receives the shard of each term that has ended.
	ended chan shard.Shard
	// failed receives the error that ends the process: workers that did not stop.
	failed chan error
}

// term is a shard that this replica holds, or is about to.
type term struct {
	stop context.CancelFunc
	// stopping is when giving up the shard began; zero if it is to be held.
	stopping  time.Time
	isWorking bool
}

func (t *term) giveUp() {
	if t.stopping.IsZero() {
		t.stopping = time.Now()
		t.stop()
	}
}

// reviewInterval is how often the Leases are looked at without an event: often enough to take over a shard soon after its Lease ran out.
const reviewInterval = 500 * time.Millisecond

// termRetry is how long a replica stays away from a shard that it has lost, or could not work on.
const termRetry = time.Second

// NewGroup makes this process a replica of the group. watches has no timeout, which would end the watch of the Leases. version tells
// replicas of different versions of a Deployment apart.
func NewGroup(client, watches coordinationclient.LeasesGetter, config Config, count int, version string, work func(shard.Shard) Work) (*Group, error) {
	identity, id, err := newIdentity()
	if err != nil {
		return nil, err
	}
	return &Group{
		config: config, count: count, work: work, client: client,
		member:   member{Member: shard.Member{Identity: identity, Version: version}, id: id},
		observer: newObserver(watches.Leases(config.Namespace), config.Name),
		names:    names(config.Name),
		terms:    map[shard.Shard]*term{},
		ended:    make(chan shard.Shard),
		failed:   make(chan error, 1),
	}, nil
}

// OnRewind has a function called when the API server has gone back in time. It is for before Run.
func (g *Group) OnRewind(rewound func()) { g.member.witness.rewound = rewound }

// Run takes part in the group until ctx is done. Then it drains and releases all its shards.
func (g *Group) Run(ctx context.Context) error {
	// The terms outlive the signal: the others first have to learn that this replica goes.
	outlivingCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	for _, part := range shard.All(g.count) {
		metrics.ShardOwner.WithLabelValues(part.String()).Set(0)
	}
	synced := make(chan struct{})
	go g.observer.run(outlivingCtx, func() { close(synced) })
	select {
	case <-synced:
	case <-ctx.Done():
		return nil
	}
	heartCtx, stopHeart := context.WithCancel(outlivingCtx)
	heart := make(chan struct{})
	go func() {
		defer close(heart)
		g.keepAlive(heartCtx)
	}()
	err := g.follow(ctx, outlivingCtx)
	// First the others learn that this replica goes, so that they give it no further shard.
	stopHeart()
	<-heart
	g.leave(outlivingCtx)
	if err == nil {
		err = g.stopAll(outlivingCtx)
	}
	if err == nil {
		g.dissolve(outlivingCtx)
	}
	return err
}

// follow takes and gives up shards until ctx is done. Terms get termCtx.
func (g *Group) follow(ctx, termCtx context.Context) error {
	ticker := time.NewTicker(reviewInterval)
	defer ticker.Stop()
	for {
		g.review(termCtx)
		select {
		case <-ctx.Done():
			return nil
		case err := <-g.failed:
			return err
		case part := <-g.ended:
			g.forget(part)
		case <-g.observer.changed:
		case <-ticker.C:
		}
	}
}

// review takes the shards that this replica should hold and that are free, and gives up those that it should not.
func (g *Group) review(ctx context.Context) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	isKept := g.isKept(now)
	view := g.view(now)
	for i, identity := range view.Assign() {
		part := shard.Shard{Index: i, Count: g.count}
		isMine := isKept && identity == g.member.Identity
		current, found := g.terms[part]
		lease, exists := g.observer.get(g.names.shard(part))
		switch {
		case found && !isMine && current.stopping.IsZero():
			if isKept {
				klog.FromContext(ctx).Info("Giving up a shard", "shard", part, "to", identity)
			} else {
				klog.FromContext(ctx).Info("Giving up a shard: the Lease of the group was not renewed in time", "shard", part)
			}
			current.giveUp()
		case !found && isMine && (!exists || lease.isFree(now)):
			g.terms[part] = g.start(ctx, part)
		}
	}
}

// view is what this replica knows, which is more about its own shards than the observed Leases tell.
func (g *Group) view(now time.Time) shard.View {
	view := shard.View{Holders: make([]string, g.count)}
	leases := g.observer.all()
	for i, part := range shard.All(g.count) {
		lease, exists := leases[g.names.shard(part)]
		switch current, found := g.terms[part]; {
		case found && current.stopping.IsZero() && (current.isWorking || !exists || lease.isFree(now)):
			view.Holders[i] = g.member.Identity
		case exists && !lease.isExpired(now):
			view.Holders[i] = lease.holder()
		}
	}
	for name, lease := range leases {
		// Whoever has not renewed its Lease for this long works on nothing any more. It is known to be dead before the first of its shards
		// is free, and gets none of them.
		isAlive := now.Sub(lease.seen) < g.config.RenewDeadline
		// A replica that has just started finds the Leases of those that died long ago, too.
		isKnown := lease.isWitnessed || slices.Contains(view.Holders, lease.holder())
		if g.names.isMember(name) && isAlive && isKnown {
			view.Members = append(view.Members, memberOf(lease))
		}
	}
	return view
}

// start stands for the Lease of a shard, and works on the shard once it is held.
func (g *Group) start(ctx context.Context, part shard.Shard) *term {
	ctx, stop := context.WithCancel(ctx)
	t := &term{stop: stop}
	go func() {
		err := g.hold(ctx, t, part)
		if errors.Is(err, errNotDrained) {
			g.failed <- err
		} else if err != nil {
			klog.FromContext(ctx).Error(err, "Shard is not held any more", "shard", part)
			select { // not again and again, if the cause stays
			case <-time.After(termRetry):
			case <-ctx.Done():
			}
		}
		stop()
		g.ended <- part
	}()
	return t
}

// hold runs the work of a shard while its Lease is held.
func (g *Group) hold(ctx context.Context, t *term, part shard.Shard) error {
	// Those that took their shards at the same moment would otherwise renew them at the same moment for ever.
	config := g.config
	config.RetryPeriod += time.Duration(rand.Float64() * float64(config.RetryPeriod) / 5)
	config.Name = g.names.shard(part)
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: config.Namespace, Name: config.Name},
		Client:     g.client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: g.member.Identity},
	}
	logger := klog.FromContext(ctx)
	election, err := New(klog.NewContext(ctx, logger.V(2)), observedLock{lock, g.observer}, config)
	if err != nil {
		return fmt.Errorf("standing for shard %v: %w", part, err)
	}
	election.outlivesLoss = true
	election.alsoHeld = func() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.isKept(time.Now()) }
	owner := metrics.ShardOwner.WithLabelValues(part.String())
	return election.Run(klog.NewContext(ctx, logger.V(2)), func(ctx context.Context) error {
		logger.Info("Took a shard", "shard", part)
		metrics.ShardTakeovers.Inc()
		owner.Set(1)
		defer owner.Set(0)
		g.setWorking(t, true)
		defer g.setWorking(t, false)
		return g.work(part)(klog.NewContext(ctx, klog.LoggerWithValues(logger, "shard", part)))
	})
}

func (g *Group) setWorking(t *term, isWorking bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t.isWorking = isWorking
}

func (g *Group) forget(part shard.Shard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.terms[part]; !t.stopping.IsZero() {
		metrics.ShardHandoverSeconds.Observe(time.Since(t.stopping).Seconds())
	}
	delete(g.terms, part)
}

// stopAll gives up all shards.
func (g *Group) stopAll(ctx context.Context) error {
	g.mu.Lock()
	left := len(g.terms)
	for _, t := range g.terms {
		t.giveUp()
	}
	g.mu.Unlock()
	for ; left > 0; left-- {
		select {
		case part := <-g.ended:
			g.forget(part)
		case err := <-g.failed:
			return err
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// OtherHolder is who holds the Lease of the group instead of it: a single leader, or a group with another number of shards.
func (g *Group) OtherHolder() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.otherHolder
}

// Held are the shards that this replica works on, in order.
func (g *Group) Held() []shard.Shard {
	g.mu.Lock()
	defer g.mu.Unlock()
	var held []shard.Shard
	for _, part := range shard.All(g.count) {
		if t, found := g.terms[part]; found && t.isWorking {
			held = append(held, part)
		}
	}
	return held
}
