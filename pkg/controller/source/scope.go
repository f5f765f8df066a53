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

// Clients has the clients for the API server.
type Clients struct {
	Kube kubernetes.Interface
	// PodManagers is made by NewManagerClient, and so is Statuses.
	PodManagers managersv1.AppsV1Interface
	// Metadata reads the metadata of pods, revisions and PodManagers.
	Metadata metadata.Interface
	// Events and Statuses write events and statuses. They have a separate rate limiter, so that pod requests never wait for them.
	Events   kubernetes.Interface
	Statuses managersv1.AppsV1Interface
	Nodes    *Nodes
}

// Scope has the informers of one namespace, or of all namespaces (metav1.NamespaceAll).
type Scope struct {
	Namespace   string
	PodManagers podmanagerinformers.PodManagerInformer
	// Pods and Revisions have one informer each. With sharding, that is the shard's informer, and a second one follows, which all shards
	// share: it has the objects that are in no shard yet.
	Pods, Revisions []cache.SharedIndexInformer

	// selector selects the PodManagers that this controller syncs. It is nil for all.
	selector labels.Selector
	// shard is the shard whose pods and revisions the first informers watch.
	shard shard.Shard
	// factories start the informers of this scope. sources are what the informers list and watch.
	factories []informerFactory
	sources   []*checkedSource
}

// informerFactory is the common part of both clients' SharedInformerFactories.
type informerFactory interface {
	StartWithContext(ctx context.Context)
	Shutdown()
}

// NewScope returns a scope whose informers tolerate objects that cannot be decoded, and detect that the API server has gone back in time.
// They watch only the pods and revisions that objects selects, so that the cost of the caches depends on our own objects only.
func NewScope(clients Clients, resync time.Duration, namespace, objects string, selector labels.Selector) Scope {
	s := Scope{Namespace: namespace, selector: selector}
	s.addObjects(clients, resync, objects)
	factory := externalversions.NewSharedInformerFactoryWithOptions(nil, resync, externalversions.WithNamespace(namespace))
	factory.InformerFor(&v1.PodManager{}, func(versioned.Interface, time.Duration) cache.SharedIndexInformer {
		return s.inform(clients.PodManagers, &v1.PodManager{}, resync, cache.Indexers{}, &checkedSource{
			resource: managerResource, selector: selector.String(), client: clients.Metadata,
			source: listWatch(clients.PodManagers.PodManagers(namespace), selector.String()),
		})
	})
	s.PodManagers, s.factories = factory.Apps().V1().PodManagers(), append(s.factories, factory)
	return s
}

// OfShard returns the scope of one shard. It shares the PodManagers of s, which has to be the scope of the objects that are in no shard. Its
// pods and revisions are those of the shard. If the API server goes back in time, s is notified.
func (s Scope) OfShard(clients Clients, resync time.Duration, part shard.Shard) Scope {
	own := Scope{Namespace: s.Namespace, selector: s.selector, shard: part, PodManagers: s.PodManagers}
	own.addObjects(clients, resync, part.Selector())
	for _, source := range own.sources {
		source.consistentList, source.rewound = true, s.sources[0].rewound
	}
	own.Pods, own.Revisions = append(own.Pods, s.Pods...), append(own.Revisions, s.Revisions...)
	return own
}

// addObjects creates the informers of pods and revisions. Each has its own factory, because a factory starts its informers in random order, which no
// simulation could replay.
func (s *Scope) addObjects(clients Clients, resync time.Duration, selector string) {
	newFactory := func() kubeinformers.SharedInformerFactory {
		factory := kubeinformers.NewSharedInformerFactoryWithOptions(clients.Kube, resync, kubeinformers.WithNamespace(s.Namespace))
		s.factories = append(s.factories, factory)
		return factory
	}
	pods := newFactory().InformerFor(&corev1.Pod{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return s.inform(clients.Kube, &corev1.Pod{}, resync, cache.Indexers{byManager: indexManager}, &checkedSource{
			resource: corev1.SchemeGroupVersion.WithResource("pods"), selector: selector, client: clients.Metadata,
			source: listWatch(clients.Kube.CoreV1().Pods(s.Namespace), selector),
		})
	})
	revisions := newFactory().InformerFor(&appsv1.ControllerRevision{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return s.inform(clients.Kube, &appsv1.ControllerRevision{}, resync, cache.Indexers{byManager: indexManager}, &checkedSource{
			resource: appsv1.SchemeGroupVersion.WithResource("controllerrevisions"), selector: selector, client: clients.Metadata,
			source: listWatch(clients.Kube.AppsV1().ControllerRevisions(s.Namespace), selector),
		})
	})
	s.Pods, s.Revisions = []cache.SharedIndexInformer{pods}, []cache.SharedIndexInformer{revisions}
}

// inform creates the informer of a source.
func (s *Scope) inform(client any, object runtime.Object, resync time.Duration, indexers cache.Indexers, source *checkedSource) cache.SharedIndexInformer {
	source.namespace = s.Namespace
	source.answered, source.rewound = func(context.Context, error) {}, func(error) {}
	indexers[cache.NamespaceIndex] = cache.MetaNamespaceIndexFunc
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source.listWatch(), client), object, resync, indexers)
	_ = informer.SetWatchErrorHandlerWithContext(watchFailed) // fails only if the informer has started
	s.sources = append(s.sources, source)
	return informer
}

// listsAndWatches is a client for one type.
type listsAndWatches[List runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (List, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

func listWatch[List runtime.Object](client listsAndWatches[List], selector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return client.Watch(ctx, options)
		},
	}
}

// Run runs the informers of this scope until ctx is done. It does not run informers that the scope shares with other scopes.
func (s Scope) Run(ctx context.Context) {
	for _, factory := range s.factories {
		factory.StartWithContext(ctx)
	}
	<-ctx.Done()
	for _, factory := range s.factories {
		factory.Shutdown()
	}
}

// Shard returns the shard of the scope.
func (s Scope) Shard() shard.Shard { return s.shard }

// Shows reports whether the caches show, or will show, a pod or revision with these labels.
func (s Scope) Shows(labels map[string]string) bool {
	return s.shard.IsIn(labels) || s.shard.IsUnsharded(labels)
}

// Seen returns the resourceVersion of each store that shows the controller's writes.
func (s Scope) Seen() map[consistency.Resource]string {
	return map[consistency.Resource]string{
		PodsResource:      s.Pods[0].GetStore().LastStoreSyncResourceVersion(),
		RevisionsResource: s.Revisions[0].GetStore().LastStoreSyncResourceVersion(),
		ManagersResource:  s.PodManagers.Informer().GetStore().LastStoreSyncResourceVersion(),
	}
}

// SyncedCheckers returns a checker for each cache, which is done once the cache has synced.
func (s Scope) SyncedCheckers() (checkers []cache.DoneChecker) {
	for _, informer := range slices.Concat(s.Pods, s.Revisions, []cache.SharedIndexInformer{s.PodManagers.Informer()}) {
		checkers = append(checkers, informer.HasSyncedChecker())
	}
	return checkers
}
