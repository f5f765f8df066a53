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
	"k8s.io/client-go/dynamic"
	kubeinformers "k8s.io/client-go/informers"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned"
	"github.com/mycompany/podmanager/pkg/generated/informers/externalversions"
	podmanagerinformers "github.com/mycompany/podmanager/pkg/generated/informers/externalversions/podmanager/v1"
)

// Clients are the connections to the API server.
type Clients struct {
	Kube        kubernetes.Interface
	PodManagers versioned.Interface
	// Dynamic lists and watches PodManagers undecoded, see tolerantListWatch.
	Dynamic dynamic.Interface
	// Metadata reads the names and owners of pods.
	Metadata metadata.Interface
	// Events and Statuses write events and statuses. They have a rate limiter of their own, so that pod requests never wait for
	// events and statuses.
	Events   kubernetes.Interface
	Statuses versioned.Interface
}

// Scope has the informers of one namespace, or of all namespaces (metav1.NamespaceAll).
type Scope struct {
	Namespace   string
	Pods        coreinformers.PodInformer
	Revisions   appsinformers.ControllerRevisionInformer
	PodManagers podmanagerinformers.PodManagerInformer

	// selector selects the PodManagers that this controller syncs; nil for all.
	selector labels.Selector
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
// cannot be decoded, and that relist after the API server has gone back in time.
func NewScope(clients Clients, kube kubeinformers.SharedInformerFactory, managers externalversions.SharedInformerFactory, namespace string, selector labels.Selector) Scope {
	s := Scope{
		Namespace:      namespace,
		selector:       selector,
		Pods:           kube.Core().V1().Pods(),
		Revisions:      kube.Apps().V1().ControllerRevisions(),
		PodManagers:    managers.Apps().V1().PodManagers(),
		podSource:      newRelistable("pods", podListWatch(clients.Kube, namespace)),
		revisionSource: newRelistable("controllerrevisions", revisionListWatch(clients.Kube, namespace)),
		managerSource:  newRelistable("podmanagers", tolerantListWatch(clients.Dynamic, namespace, selector.String())),
		factories:      []informerFactory{kube, managers},
	}
	s.runner = newScopeRunner(s)
	newInformer := func(source *relistable, client any, object runtime.Object, resync time.Duration) cache.SharedIndexInformer {
		informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source.listWatch(), client), object, resync,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		_ = informer.SetWatchErrorHandlerWithContext(watchFailed) // fails only if the informer has started
		return informer
	}
	kube.InformerFor(&corev1.Pod{}, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return newInformer(s.podSource, clients.Kube, &corev1.Pod{}, resync)
	})
	kube.InformerFor(&appsv1.ControllerRevision{}, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return newInformer(s.revisionSource, clients.Kube, &appsv1.ControllerRevision{}, resync)
	})
	managers.InformerFor(&v1.PodManager{}, func(_ versioned.Interface, resync time.Duration) cache.SharedIndexInformer {
		return newInformer(s.managerSource, clients.Dynamic, &v1.PodManager{}, resync)
	})
	return s
}

// podListWatch leaves out pods without our label, so that the cost of the cache depends on our own pods only.
func podListWatch(client kubernetes.Interface, namespace string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = v1.LabelManager
			return client.CoreV1().Pods(namespace).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = v1.LabelManager
			return client.CoreV1().Pods(namespace).Watch(ctx, options)
		},
	}
}

// revisionListWatch leaves out the revisions of StatefulSets and DaemonSets.
func revisionListWatch(client kubernetes.Interface, namespace string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = v1.LabelManager
			return client.AppsV1().ControllerRevisions(namespace).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = v1.LabelManager
			return client.AppsV1().ControllerRevisions(namespace).Watch(ctx, options)
		},
	}
}

// selects tells whether the selector matches a PodManager.
func (s Scope) selects(manager *v1.PodManager) bool {
	return s.selector == nil || s.selector.Matches(labels.Set(manager.Labels))
}

// sources are the ListWatches of the informers, with the stores that they fill.
func (s Scope) sources() map[*relistable]cache.Store {
	sources := map[*relistable]cache.Store{
		s.podSource:      s.Pods.Informer().GetStore(),
		s.revisionSource: s.Revisions.Informer().GetStore(),
		s.managerSource:  s.PodManagers.Informer().GetStore(),
	}
	delete(sources, nil)
	return sources
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
	return []cache.DoneChecker{
		s.Pods.Informer().HasSyncedChecker(), s.Revisions.Informer().HasSyncedChecker(), s.PodManagers.Informer().HasSyncedChecker(),
	}
}

func (s Scope) hasSynced() bool {
	return !slices.ContainsFunc(s.SyncedCheckers(), func(checker cache.DoneChecker) bool { return !cache.IsDone(checker) })
}
