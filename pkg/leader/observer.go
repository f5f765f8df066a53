package leader

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/pkg/shard"
)

// observer watches the Leases of all replicas. It notes by its own clock when each of them last changed: the clocks of other machines tell
// nothing.
type observer struct {
	client coordinationclient.LeaseInterface
	prefix string
	// changed receives a value after a change.
	changed chan struct{}

	mu     sync.Mutex
	leases map[string]observation
}

// observation is a Lease, and when this version of it was first seen.
type observation struct {
	*coordinationv1.Lease
	seen time.Time
	// isWitnessed tells that the Lease was written while this replica was watching, and not at some time before.
	isWitnessed bool
}

func newObserver(client coordinationclient.LeaseInterface, prefix string) *observer {
	return &observer{client: client, prefix: prefix, changed: make(chan struct{}, 1), leases: map[string]observation{}}
}

// run watches until ctx is done. It calls synced once all Leases have been seen.
func (o *observer) run(ctx context.Context, synced func()) {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return o.client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return o.client.Watch(ctx, options)
		},
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &coordinationv1.Lease{}, Handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(obj any, isInInitialList bool) { o.saw(obj.(*coordinationv1.Lease), !isInInitialList) },
			UpdateFunc: func(_, obj any) { o.saw(obj.(*coordinationv1.Lease), true) },
			DeleteFunc: o.lost,
		},
	})
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			synced()
		}
	}()
	informer.RunWithContext(ctx)
}

func (o *observer) saw(lease *coordinationv1.Lease, isWitnessed bool) {
	if !strings.HasPrefix(lease.Name, o.prefix) {
		return
	}
	o.mu.Lock()
	if known, found := o.leases[lease.Name]; !found || known.ResourceVersion != lease.ResourceVersion {
		o.leases[lease.Name] = observation{lease, time.Now(), isWitnessed}
	}
	o.mu.Unlock()
	o.notify()
}

func (o *observer) lost(obj any) {
	if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
		o.mu.Lock()
		delete(o.leases, name.Name)
		o.mu.Unlock()
		o.notify()
	}
}

func (o *observer) notify() {
	select {
	case o.changed <- struct{}{}:
	default: // a notice is already waiting
	}
}

func (o *observer) get(name string) (observation, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lease, found := o.leases[name]
	return lease, found
}

// all are the observed Leases by name.
func (o *observer) all() map[string]observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[string]observation, len(o.leases))
	for name, lease := range o.leases {
		all[name] = lease
	}
	return all
}

func (o observation) holder() string { return ptr.Deref(o.Spec.HolderIdentity, "") }

// isExpired tells whether the Lease has not been renewed for as long as it lasts.
func (o observation) isExpired(now time.Time) bool {
	return now.Sub(o.seen) > time.Duration(ptr.Deref(o.Spec.LeaseDurationSeconds, 0))*time.Second
}

// isFree tells whether the Lease can be taken.
func (o observation) isFree(now time.Time) bool { return o.holder() == "" || o.isExpired(now) }

// names are the names of the Leases.
type names string

func (n names) member(id string) string       { return string(n) + "-replica-" + id }
func (n names) shard(part shard.Shard) string { return fmt.Sprintf("%s-shard-%v", n, part) }

func (n names) isMember(name string) bool { return strings.HasPrefix(name, string(n)+"-replica-") }

// isOfAnotherNumber tells whether a Lease is for one of another number of shards.
func (n names) isOfAnotherNumber(name string, count int) bool {
	index, isShard := strings.CutPrefix(name, string(n)+"-shard-")
	return isShard && !strings.HasSuffix(index, fmt.Sprint("-of-", count))
}
