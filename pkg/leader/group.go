package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/shard"
)

// Group distributes the shards among replicas: each replica holds the Leases of some shards, and works on those shards only.
//
// Only the Lease of a shard decides which replica may act on it. All replicas observe the Leases, and shard.View.Next computes from them
// which shards to take, to give up and to ask for. A replica asks for a shard by setting a label on its Lease. All replicas of the group
// together hold the Lease that a single leader would hold, so that neither a single leader nor a group with another number of shards works at
// the same time.
type Group struct {
	config   Config
	count    int
	identity string
	version  string
	order    []int // in which this replica considers the shards; random, so that replicas do not all try to take the same one
	work     func(shard.Shard) Work
	client   coordinationclient.LeasesGetter
	watches  coordinationclient.LeasesGetter
	observer *observer

	mu       sync.Mutex
	together *Election // holds the Lease of the group
	terms    map[shard.Shard]*term
	running  sync.WaitGroup // waits for the terms
	// failed receives an error that has to end the process, because workers did not stop.
	failed chan error
}

// term is a shard that this replica holds or is acquiring.
type term struct {
	stop context.CancelFunc
	// stopping is when this replica began to give up the shard. It is zero while the replica keeps the shard.
	stopping time.Time
	// to is the replica that asked for the shard and will get it; empty if none has.
	to        string
	isWorking bool
}

func (t *term) giveUp(to string) {
	if t.stopping.IsZero() {
		t.stopping, t.to = time.Now(), to
		t.stop()
	}
}

const (
	// reviewInterval is the longest time between two reviews of the Leases. An event triggers a review sooner.
	reviewInterval = 500 * time.Millisecond
	// termRetry is how long a replica waits before it retries a shard that it has lost or could not work on.
	termRetry = time.Second

	// labelWantedBy, on the Lease of a shard, names the replica that asks for the shard. The holder clears the label when it next renews the
	// Lease, unless it gives the shard up.
	labelWantedBy = v1.GroupName + "/wanted-by"
	// labelVersion, on the Lease of a shard, is its holder's version.
	labelVersion = v1.GroupName + "/version"
)

// NewGroup makes this process a replica of the group. watches must not have a timeout, which would end the watch on the Leases. version tells
// replicas from different revisions of the controller's Deployment apart.
func NewGroup(client, watches coordinationclient.LeasesGetter, config Config, count int, version string, work func(shard.Shard) Work) (*Group, error) {
	identity, err := newIdentity()
	if err != nil {
		return nil, err
	}
	return &Group{
		config: config, count: count, identity: identity, version: version, order: rand.Perm(count), work: work, client: client, watches: watches,
		observer: newObserver(config.Duration),
		terms:    map[shard.Shard]*term{},
		failed:   make(chan error, count),
	}, nil
}

// groupIdentity is the holder of the single leader's Lease while a group works.
func (g *Group) groupIdentity() string { return fmt.Sprintf("%d shards", g.count) }

func (g *Group) leaseOf(part shard.Shard) string {
	return fmt.Sprintf("%s-shard-%v", g.config.Name, part)
}

// replicaOf returns the UUID of an identity. It names the replica in labels, whose values are too short for the whole identity.
func replicaOf(identity string) string { return identity[strings.LastIndexByte(identity, '_')+1:] }

// Run takes part in the group until ctx is done. Then it drains and releases all shards that this replica holds.
func (g *Group) Run(ctx context.Context) error {
	observing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	logger := klog.FromContext(ctx)
	logger.Info("Sharing the PodManagers with the other replicas", "identity", g.identity, "shards", g.count)
	for _, part := range shard.All(g.count) {
		metrics.ShardOwner.WithLabelValues(part.String()).Set(0)
	}
	select {
	case <-g.observer.start(observing, g.watches.Leases(g.config.Namespace)):
	case <-ctx.Done():
		return nil
	}
	for {
		lock := &sharedLock{LeaseLock: newLock(g.client, g.config, g.groupIdentity()), limit: g.config.RenewDeadline}
		together, err := New(ctx, lock, g.config)
		if err != nil {
			return err
		}
		together.outlivesLoss = true
		g.mu.Lock()
		g.together = together
		g.mu.Unlock()
		err = together.Run(klog.NewContext(ctx, logger.V(2)), func(ctx context.Context) error { return g.share(klog.NewContext(ctx, logger)) })
		if !errors.Is(err, errOutlived) {
			return err
		}
		logger.Error(err, "The Lease that all replicas share was not renewed in time; this replica gave up its shards, and will try again")
	}
}

// share takes and gives up shards until ctx is done. Then it gives up all of them.
func (g *Group) share(ctx context.Context) error {
	leftovers := time.NewTicker(g.config.Duration)
	defer leftovers.Stop()
	for began := time.Now(); ; {
		again := g.review(ctx, began)
		select {
		case <-ctx.Done():
			return g.stopAll()
		case err := <-g.failed:
			return err
		case <-leftovers.C:
			g.observer.removeLeftovers(ctx, g.client.Leases(g.config.Namespace), g.config.Name, g.count)
		case <-g.observer.changed:
		case <-time.After(again):
		}
	}
}

// review takes, gives up and asks for shards. It returns the longest time to wait before the next review.
func (g *Group) review(ctx context.Context, began time.Time) time.Duration {
	g.mu.Lock()
	view := g.view(time.Now(), began)
	step := view.Next()
	for part, t := range g.terms {
		if view.Leases[part.Index].Holder != view.Replica {
			t.giveUp("") // another replica was faster
		}
	}
	for _, i := range step.GiveUp {
		part := shard.Shard{Index: i, Count: g.count}
		klog.FromContext(ctx).Info("Giving up a shard", "shard", part, "to", view.Leases[i].WantedBy)
		g.terms[part].giveUp(view.Leases[i].WantedBy)
	}
	for _, i := range step.Take {
		g.start(context.WithoutCancel(ctx), shard.Shard{Index: i, Count: g.count})
	}
	g.mu.Unlock()
	if step.Ask >= 0 {
		g.ask(ctx, shard.Shard{Index: step.Ask, Count: g.count})
	}
	return min(step.Wait, reviewInterval)
}

// view returns what this replica knows about all shards. It knows more about its own shards than the observed Leases show.
func (g *Group) view(now, began time.Time) shard.View {
	view := shard.View{Replica: replicaOf(g.identity), Version: g.version, Order: g.order, Leases: make([]shard.Lease, g.count)}
	for i, part := range shard.All(g.count) {
		lease, known := g.observer.get(g.leaseOf(part)), &view.Leases[i]
		known.WantedBy, known.Version = lease.Labels[labelWantedBy], lease.Labels[labelVersion]
		if !lease.isFree(now) {
			known.Holder = replicaOf(lease.holder())
		}
		switch t, found := g.terms[part]; {
		case !found && known.Holder == view.Replica:
			known.Holder = g.identity // counts as another replica: the release has not been observed yet, or has failed
		case !found:
			known.Free = min(now.Sub(lease.freeAt()), now.Sub(began))
		case !t.stopping.IsZero():
			known.Holder, known.Version = cmp.Or(t.to, known.Holder, view.Replica), g.version
		case t.isWorking || known.Holder == "":
			known.Holder, known.Version = view.Replica, g.version
			if lease.isFree(now) {
				known.WantedBy = "" // an earlier holder was asked for it
			}
		}
	}
	return view
}

// ask asks the holder of a shard to give it up. If the holder renews the Lease at the same time, the update conflicts, and the next review
// asks again.
func (g *Group) ask(ctx context.Context, part shard.Shard) {
	lease := g.observer.get(g.leaseOf(part))
	wanted := lease.DeepCopy()
	metav1.SetMetaDataLabel(&wanted.ObjectMeta, labelWantedBy, replicaOf(g.identity))
	written, err := g.client.Leases(g.config.Namespace).Update(ctx, wanted, metav1.UpdateOptions{})
	if err != nil {
		klog.FromContext(ctx).V(4).Info("Failed to ask for a shard", "shard", part, "err", err)
		return
	}
	g.observer.saw(written)
}

// start stands for election on the Lease of a shard, and works on the shard while it holds the Lease.
func (g *Group) start(ctx context.Context, part shard.Shard) {
	ctx, stop := context.WithCancel(ctx)
	t := &term{stop: stop}
	g.terms[part] = t
	g.running.Go(func() {
		defer stop()
		err := g.hold(ctx, t, part)
		if MustExit(err) {
			g.failed <- err
		} else if err != nil {
			klog.FromContext(ctx).Error(err, "Lost a shard", "shard", part)
			select { // no tight loop if the cause persists
			case <-time.After(termRetry):
			case <-ctx.Done():
			}
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if !t.stopping.IsZero() {
			metrics.ShardHandoverSeconds.Observe(time.Since(t.stopping).Seconds())
		}
		delete(g.terms, part)
		g.observer.notify()
	})
}

// hold runs the work of a shard while this replica holds its Lease.
func (g *Group) hold(ctx context.Context, t *term, part shard.Shard) error {
	// Without jitter, shards that were taken at the same moment would be renewed at the same moments forever.
	config := g.config
	config.Name = g.leaseOf(part)
	config.RetryPeriod = wait.Jitter(config.RetryPeriod, 0.2)
	logger := klog.FromContext(ctx)
	quiet := klog.NewContext(ctx, logger.V(2))
	labels := func() map[string]string {
		g.mu.Lock()
		defer g.mu.Unlock()
		return map[string]string{labelVersion: g.version, labelWantedBy: t.to}
	}
	election, err := New(quiet, observedLock{newLock(g.client, config, g.identity), g.observer, labels}, config)
	if err != nil {
		return fmt.Errorf("leader election for shard %v: %w", part, err)
	}
	election.outlivesLoss = true
	owner := metrics.ShardOwner.WithLabelValues(part.String())
	return election.Run(quiet, func(ctx context.Context) error {
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

// stopAll gives up all shards and waits until their work has stopped.
func (g *Group) stopAll() error {
	g.mu.Lock()
	for _, part := range shard.All(g.count) { // in order, so that a simulation can be replayed
		if t, found := g.terms[part]; found {
			t.giveUp("")
		}
	}
	g.mu.Unlock()
	g.running.Wait()
	select {
	case err := <-g.failed:
		return err
	default:
		return nil
	}
}

// OtherHolder returns who holds the Lease of the group instead of the group: a single leader, or a group with another number of shards. It is
// empty if the group holds the Lease.
func (g *Group) OtherHolder() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.together == nil || g.together.elector.GetLeader() == g.groupIdentity() {
		return ""
	}
	return g.together.elector.GetLeader()
}

// Held returns the shards that this replica works on, in order.
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
