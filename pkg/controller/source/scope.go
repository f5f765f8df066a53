package source

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kubeinformers "k8s.io/client-go/informers"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
	managersv1 "github.com/mycompany/podmanager/pkg/generated/clientset/versioned/typed/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/generated/informers/externalversions"
	podmanagerinformers "github.com/mycompany/podmanager/pkg/generated/informers/externalversions/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/shard"
)

// Clients are the connections to the API server.
type Clients struct {
	Kube kubernetes.Interface
	// PodManagers is a client of NewManagerClient, and so is Statuses.
	PodManagers managersv1.AppsV1Interface
	// Metadata reads the names and owners of pods.
	Metadata metadata.Interface
	// Events and Statuses write events and statuses. They have a rate limiter of their own, so that pod requests never wait for
	// events and statuses.
	Events   kubernetes.Interface
	Statuses managersv1.AppsV1Interface
}

// Scope has the informers of one namespace, or of all namespaces (metav1.NamespaceAll).
type Scope struct {
	Namespace   string
	Pods        coreinformers.PodInformer
	Revisions   appsinformers.ControllerRevisionInformer
	PodManagers podmanagerinformers.PodManagerInformer

	// selector selects the PodManagers that this controller syncs; nil for all.
	selector labels.Selector
	// shard is the shard whose pods and revisions the informers have. Those that are in no shard yet are in strays, which also has the
	// PodManagers of all shards; nil without shards.
	shard      shard.Shard
	strays     *Scope
	relabelled *relabelled
	// The ListWatches of the informers; nil for the generated defaults.
	podSource, revisionSource, managerSource *relistable

	// runner starts the factories, and they the informers. Both are nil if the caller starts the informers.
	factories []informerFactory
	runner    *scopeRunner
}

// informerFactory is the part that the informer factories of both clients share.
type informerFactory interface {
	StartWithContext(ctx context.Context)
	Shutdown()
}

// NewScope makes a scope with informers of the two factories. It replaces the generated informers by ones that tolerate an object that
// cannot be decoded, and that relist after the API server has gone back in time. The informers have the pods and revisions that objects
// selects, which leaves out those of others: the cost of the caches depends on our own objects only.
func NewScope(clients Clients, kube kubeinformers.SharedInformerFactory, managers externalversions.SharedInformerFactory, namespace, objects string, selector labels.Selector) Scope {
	s := Scope{
		Namespace:     namespace,
		selector:      selector,
		PodManagers:   managers.Apps().V1().PodManagers(),
		managerSource: newRelistable(managerResource, namespace, clients.Metadata, managerListWatch(clients.PodManagers, namespace, selector.String())),
		relabelled:    newRelabelled(),
		factories:     []informerFactory{kube, managers},
	}
	s.addObjects(clients, kube, objects)
	managers.InformerFor(&v1.PodManager{}, func(_ versioned.Interface, resync time.Duration) cache.SharedIndexInformer {
		return newInformer(s.managerSource, clients.PodManagers, &v1.PodManager{}, resync)
	})
	s.runner = newScopeRunner(s)
	return s
}

// OfShard makes the scope of one shard. Its PodManagers are those of s, which has to be the scope of all that is in no shard; its pods
// and revisions are the shard's own, in informers of the factory.
func (s Scope) OfShard(clients Clients, kube kubeinformers.SharedInformerFactory, part shard.Shard) Scope {
	own := Scope{
		Namespace:   s.Namespace,
		selector:    s.selector,
		shard:       part,
		strays:      &s,
		PodManagers: s.PodManagers,
		relabelled:  s.relabelled,
		factories:   []informerFactory{kube},
	}
	own.addObjects(clients, kube, part.Selector())
	own.runner = newScopeRunner(own)
	own.runner.dependOn(s.runner)
	return own
}

// addObjects makes the informers of pods and revisions.
func (s *Scope) addObjects(clients Clients, kube kubeinformers.SharedInformerFactory, selector string) {
	podSource, revisionSource := podListWatch(clients.Kube, s.Namespace, selector), revisionListWatch(clients.Kube, s.Namespace, selector)
	if s.strays != nil {
		podSource, revisionSource = ofNow(podSource), ofNow(revisionSource)
	}
	pods := newRelistable(corev1.SchemeGroupVersion.WithResource("pods"), s.Namespace, clients.Metadata, podSource)
	revisions := newRelistable(appsv1.SchemeGroupVersion.WithResource("controllerrevisions"), s.Namespace, clients.Metadata, revisionSource)
	s.podSource, s.revisionSource = pods, revisions
	s.Pods, s.Revisions = kube.Core().V1().Pods(), kube.Apps().V1().ControllerRevisions()
	kube.InformerFor(&corev1.Pod{}, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return newInformer(pods, clients.Kube, &corev1.Pod{}, resync)
	})
	kube.InformerFor(&appsv1.ControllerRevision{}, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return newInformer(revisions, clients.Kube, &appsv1.ControllerRevision{}, resync)
	})
}

func newInformer(source *relistable, client any, object runtime.Object, resync time.Duration) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source.listWatch(), client), object, resync,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	_ = informer.SetWatchErrorHandlerWithContext(watchFailed) // fails only if the informer has started
	return informer
}

func podListWatch(client kubernetes.Interface, namespace, selector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return client.CoreV1().Pods(namespace).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return client.CoreV1().Pods(namespace).Watch(ctx, options)
		},
	}
}

func revisionListWatch(client kubernetes.Interface, namespace, selector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return client.AppsV1().ControllerRevisions(namespace).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return client.AppsV1().ControllerRevisions(namespace).Watch(ctx, options)
		},
	}
}

// ofNow makes lists be of now. An informer asks for any version first, which may be older than what the last holder of the shard has
// written. A watch that begins with all objects is of now anyway.
func ofNow(source *cache.ListWatch) *cache.ListWatch {
	list := source.ListWithContextFunc
	source.ListWithContextFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		if options.ResourceVersion == "0" {
			options.ResourceVersion = ""
		}
		return list(ctx, options)
	}
	return source
}

// Shard is the shard of the scope.
func (s Scope) Shard() shard.Shard { return s.shard }

// Strays is the scope of what is in no shard; false without shards.
func (s Scope) Strays() (Scope, bool) {
	if s.strays == nil {
		return Scope{}, false
	}
	return *s.strays, true
}

// Shows tells whether the caches have, or will have, a pod or revision with these labels.
func (s Scope) Shows(labels map[string]string) bool {
	return s.shard.IsIn(labels) || s.shard.IsStray(labels)
}

// selects tells whether the selector matches a PodManager.
func (s Scope) selects(manager *v1.PodManager) bool {
	return s.selector == nil || s.selector.Matches(labels.Set(manager.Labels))
}

// sources are the ListWatches of the informers of this scope alone, with the stores that they fill.
func (s Scope) sources() map[*relistable]cache.Store {
	sources := map[*relistable]cache.Store{
		s.podSource:      s.Pods.Informer().GetStore(),
		s.revisionSource: s.Revisions.Informer().GetStore(),
		s.managerSource:  s.PodManagers.Informer().GetStore(),
	}
	delete(sources, nil)
	return sources
}

// joinWhole makes the scope of the whole check for the informers of a shard, too, whether the API server has gone back in time, until leave
// is called. It does nothing without shards.
func (s Scope) joinWhole() (leave func()) {
	if s.strays == nil {
		return func() {}
	}
	leavePods := s.strays.podSource.join(s.podSource, s.Pods.Informer().GetStore())
	leaveRevisions := s.strays.revisionSource.join(s.revisionSource, s.Revisions.Informer().GetStore())
	return func() {
		leavePods()
		leaveRevisions()
	}
}

// Seen has the resourceVersion of each store.
func (s Scope) Seen() map[consistency.Resource]string {
	return map[consistency.Resource]string{
		PodsResource:      s.Pods.Informer().GetStore().LastStoreSyncResourceVersion(),
		RevisionsResource: s.Revisions.Informer().GetStore().LastStoreSyncResourceVersion(),
		ManagersResource:  s.PodManagers.Informer().GetStore().LastStoreSyncResourceVersion(),
	}
}

// SyncedCheckers returns a checker for each cache, which is done once the cache has synced.
func (s Scope) SyncedCheckers() []cache.DoneChecker {
	checkers := []cache.DoneChecker{
		s.Pods.Informer().HasSyncedChecker(), s.Revisions.Informer().HasSyncedChecker(), s.PodManagers.Informer().HasSyncedChecker(),
	}
	if s.strays != nil {
		checkers = append(checkers, s.strays.SyncedCheckers()...)
	}
	return checkers
}

func (s Scope) hasSynced() bool {
	return !slices.ContainsFunc(s.SyncedCheckers(), func(checker cache.DoneChecker) bool { return !cache.IsDone(checker) })
}
