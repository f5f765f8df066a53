package source

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	klog "k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/controller/metrics"
)

// rewindInterval is how often to check whether the API server has gone back in time. A check is a list of one object.
const rewindInterval = 15 * time.Second

// WatchForRewinds checks from time to time whether the API server has gone back in time, and makes informers relist if it has. The scope of
// the whole checks for those of its shards. It does not notice a rewind whose versions were caught up since the last check; pkg/leader does,
// by the Leases, and calls Relist.
func (b ByNamespace) WatchForRewinds(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		for _, scope := range b {
			if scope.strays != nil || !scope.hasSynced() {
				continue
			}
			for source, store := range scope.sources() {
				err := source.checkRewind(ctx, store)
				if apierrors.IsForbidden(err) {
					scope.runner.requestReview() // an open watch does not notice that its right was revoked
				}
				if err != nil && ctx.Err() == nil {
					klog.FromContext(ctx).V(2).Info("Cannot tell whether the API server has gone back in time", "err", err)
				}
			}
		}
	}, rewindInterval)
}

// relistable is the ListWatch of an informer that can be made to relist.
//
// When etcd is restored from a backup, resourceVersions go back. An informer then resumes its watch at a resourceVersion that the API
// server has yet to reach, gets no events until then, and keeps objects in its cache that no longer exist. A restart would help; so does
// a watch error that makes the informer relist.
type relistable struct {
	resource  schema.GroupVersionResource
	namespace string
	client    metadata.Interface // reads how far the API server is
	source    *cache.ListWatch
	// answered, if not nil, is called after each request of the informer. It is set before the informer starts.
	answered func(err error)

	mu      sync.Mutex
	watches map[*breakableWatch]bool
	// isStale tells that the informer has seen what the API server no longer knows: the informer has to list, and must not resume a watch.
	isStale bool
	// parts are the ListWatches of shards, with the stores that they fill. They are of the same resource, so that one check is enough for all.
	parts map[*relistable]cache.Store
}

func newRelistable(resource schema.GroupVersionResource, namespace string, client metadata.Interface, source *cache.ListWatch) *relistable {
	return &relistable{resource: resource, namespace: namespace, client: client, source: source,
		watches: map[*breakableWatch]bool{}, parts: map[*relistable]cache.Store{}}
}

// join makes the checks of the whole be about a part, too; leave ends that.
func (r *relistable) join(part *relistable, store cache.Store) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts[part] = store
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.parts, part)
	}
}

// listWatch is the ListWatch for the informer. Its objects are trimmed.
func (r *relistable) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			if r.mustList() {
				options.ResourceVersion = "" // the version that the informer knows is of another history
			}
			list, err := r.source.ListWithContextFunc(ctx, options)
			r.answer(err)
			if err != nil {
				return nil, err
			}
			r.mu.Lock()
			r.isStale = false
			r.mu.Unlock()
			return list, meta.EachListItem(list, func(object runtime.Object) error {
				Trim(object)
				return nil
			})
		},
		WatchFuncWithContext: r.watch,
	}
}

// watch begins a watch that relist can break.
func (r *relistable) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	lists := ptr.Deref(options.SendInitialEvents, false)
	if lists && r.mustList() {
		options.ResourceVersion = ""
	}
	inner, err := r.source.WatchFuncWithContext(ctx, options)
	r.answer(err)
	if err != nil {
		return nil, err
	}
	w := &breakableWatch{inner: inner, events: make(chan watch.Event), broken: make(chan struct{}), stopped: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isStale && !lists {
		inner.Stop()
		return nil, errRewound
	}
	r.isStale = false
	r.watches[w] = true
	go func() {
		w.forward()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watches, w)
	}()
	return w, nil
}

// errRewound makes an informer list anew.
var errRewound = apierrors.NewResourceExpired("the API server has gone back in time")

func (r *relistable) mustList() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isStale
}

func (r *relistable) answer(err error) {
	if r.answered != nil {
		r.answered(err)
	}
}

// watchFailed handles the errors that make an informer relist. scopeRunner logs refusals and a missing CRD, so this logs them only at V(4).
func watchFailed(ctx context.Context, r *cache.Reflector, err error) {
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		klog.FromContext(ctx).V(4).Info("Informer was refused", "type", r.TypeDescription(), "err", err)
		return
	}
	cache.DefaultWatchErrorHandler(ctx, r, err)
}

// checkRewind makes the informers relist that have seen a newer resourceVersion than the API server is at. It asks for any object: one that
// a selector matches may take the API server a search among all.
func (r *relistable) checkRewind(ctx context.Context, store cache.Store) error {
	// Ask the stores first: unless the API server has gone back, the list that follows is at least as new.
	seen := r.seen(store)
	list, err := r.client.Resource(r.resource).Namespace(r.namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("asking for the version of %s: %w", r.resource.Resource, err)
	}
	for source, version := range seen {
		if !consistency.IsNewer(version, list.ResourceVersion) {
			continue
		}
		klog.FromContext(ctx).Info("The API server has gone back in time, listing anew", "resource", r.resource.Resource,
			"seen", version, "now", list.ResourceVersion)
		source.relist()
	}
	return nil
}

// seen has the resourceVersion that the informer has seen, and those of the parts.
func (r *relistable) seen(store cache.Store) map[*relistable]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[*relistable]string{r: store.LastStoreSyncResourceVersion()}
	for part, store := range r.parts {
		seen[part] = store.LastStoreSyncResourceVersion()
	}
	return seen
}

// relistAll makes the informer and those of the parts list anew.
func (r *relistable) relistAll() {
	r.relist()
	r.mu.Lock()
	defer r.mu.Unlock()
	for part := range r.parts {
		part.relist()
	}
}

// relist makes the informer list anew: at once if it watches, and otherwise before it watches again.
func (r *relistable) relist() {
	metrics.Rewinds.Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isStale = true
	for w := range r.watches {
		w.breakOff()
	}
}

// breakableWatch forwards events, trimmed, until breakOff ends it with the Expired error that makes an informer relist.
type breakableWatch struct {
	inner     watch.Interface
	events    chan watch.Event
	broken    chan struct{}
	stopped   chan struct{}
	breakOnce sync.Once
	stopOnce  sync.Once
}

func (w *breakableWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *breakableWatch) Stop() { w.stopOnce.Do(func() { close(w.stopped) }) }

func (w *breakableWatch) breakOff() { w.breakOnce.Do(func() { close(w.broken) }) }

func (w *breakableWatch) forward() {
	defer close(w.events)
	defer w.inner.Stop()
	for {
		var event watch.Event
		var more bool
		select {
		case <-w.stopped:
			return
		case <-w.broken:
			status := errRewound.Status()
			event = watch.Event{Type: watch.Error, Object: &status}
		case event, more = <-w.inner.ResultChan():
			if !more {
				return
			}
			if event.Type != watch.Bookmark && event.Type != watch.Error {
				Trim(event.Object)
			}
		}
		select {
		case w.events <- event:
		case <-w.stopped:
			return
		}
		if event.Type == watch.Error {
			return
		}
	}
}
