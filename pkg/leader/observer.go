package leader

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// observer watches the Leases of all replicas. It records by its own clock when each Lease was last renewed, because the clocks of other
// machines may differ.
type observer struct {
	// changed receives a value after a Lease has changed.
	changed chan struct{}
	longest time.Duration

	mu     sync.Mutex
	leases map[string]observation
}

// observation is a Lease, and when it was first seen with this holder and this renewal time.
type observation struct {
	coordinationv1.Lease
	seen time.Time
}

// newObserver returns an observer for a group. longest is the duration of the group's Leases.
func newObserver(longest time.Duration) *observer {
	return &observer{changed: make(chan struct{}, 1), longest: longest, leases: map[string]observation{}}
}

// start watches Leases until ctx is done. The returned channel is closed once all existing Leases have been seen.
func (o *observer) start(ctx context.Context, client coordinationclient.LeaseInterface) <-chan struct{} {
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, options)
			},
			WatchFuncWithContext: client.Watch,
		},
		ObjectType: &coordinationv1.Lease{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { o.saw(obj.(*coordinationv1.Lease)) },
			UpdateFunc: func(_, obj any) { o.saw(obj.(*coordinationv1.Lease)) },
			DeleteFunc: o.deleted,
		},
	})
	go informer.RunWithContext(ctx)
	return informer.HasSyncedChecker().Done()
}

// saw records a Lease. A replica that asks for a shard also writes the Lease of the shard, but that does not renew it.
func (o *observer) saw(lease *coordinationv1.Lease) {
	o.mu.Lock()
	seen := time.Now()
	if known, found := o.leases[lease.Name]; found && apiequality.Semantic.DeepEqual(known.Spec, lease.Spec) {
		seen = known.seen
	}
	o.leases[lease.Name] = observation{*lease, seen}
	o.mu.Unlock()
	o.notify()
}

// deleted records that a Lease was deleted. The Lease still has to expire, because its holder may be working and will create it again. It
// expires after longest at the latest, even if its duration was an hour: a replica of this group renews its Leases within that time.
func (o *observer) deleted(obj any) {
	key, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		return
	}
	o.mu.Lock()
	if known, found := o.leases[key.Name]; found {
		seconds := min(ptr.Deref(known.Spec.LeaseDurationSeconds, 0), int32(o.longest.Seconds()))
		known.Spec.LeaseDurationSeconds, known.seen = &seconds, time.Now()
		o.leases[key.Name] = known
	}
	o.mu.Unlock()
	o.notify()
}

func (o *observer) notify() {
	select {
	case o.changed <- struct{}{}:
	default: // a notification is already pending
	}
}

// get returns the observation of a Lease. It is empty if there is no such Lease.
func (o *observer) get(name string) observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.leases[name]
}

// removeLeftovers deletes expired Leases of shards from another number of shards.
func (o *observer) removeLeftovers(ctx context.Context, client coordinationclient.LeaseInterface, prefix string, count int) {
	o.mu.Lock()
	leases := maps.Clone(o.leases)
	o.mu.Unlock()
	for name, lease := range leases {
		if !strings.HasPrefix(name, prefix+"-shard-") || strings.HasSuffix(name, fmt.Sprint("-of-", count)) || !lease.isFree(time.Now()) {
			continue
		}
		precondition := metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}
		if err := client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &precondition}); err == nil || apierrors.IsNotFound(err) {
			o.mu.Lock()
			delete(o.leases, name)
			o.mu.Unlock()
		}
	}
}

func (o observation) holder() string { return ptr.Deref(o.Spec.HolderIdentity, "") }

// freeAt returns when the Lease was released, or when it expires.
func (o observation) freeAt() time.Time {
	if o.holder() == "" {
		return o.seen
	}
	return o.seen.Add(time.Duration(ptr.Deref(o.Spec.LeaseDurationSeconds, 0)) * time.Second)
}

// isFree reports whether the Lease can be taken.
func (o observation) isFree(now time.Time) bool { return !o.freeAt().After(now) }
