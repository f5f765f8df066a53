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
	// Dynamic reads PodManagers one by one, see tolerantSource.
	Dynamic dynamic.Interface
	// Metadata reads what pods are called and who they belong to.
	Metadata metadata.Interface
	// Reports and Statuses write events and statuses. They have a limit of their own, so that what is told about pods never
	// keeps the pods themselves waiting.
	Reports  kubernetes.Interface
	Statuses versioned.Interface
}

// Scope is what the controller watches in one namespace, or (metav1.NamespaceAll) in all of them.
type Scope struct {
	Namespace   string
	Pods        coreinformers.PodInformer
	Revisions   appsinformers.ControllerRevisionInformer
	PodManagers podmanagerinformers.PodManagerInformer

	// selector is which PodManagers are ours; nil for all.
	selector labels.Selector
	// What the informers list and watch from; nil for the generated defaults.
	podSource, revisionSource, managerSource *rewindable

	// factories start the informers; life says when. Both are nil where somebody else does.
	factories []informerFactory
	life      *life
}

// informerFactory is what the factories of both clients have in common.
type informerFactory interface {
	StartWithContext(ctx context.Context)
	Shutdown()
}

// NewScope makes a scope of informers of the two factories. In place of the factories' own informers it puts such that
// survive an object that cannot be decoded, and an API server that goes back in time.
func NewScope(clients Clients, kube kubeinformers.SharedInformerFactory, managers externalversions.SharedInformerFactory, namespace string, selector labels.Selector) Scope {
	s := Scope{
		Namespace:      namespace,
		selector:       selector,
		Pods:           kube.Core().V1().Pods(),
		Revisions:      kube.Apps().V1().ControllerRevisions(),
		PodManagers:    managers.Apps().V1().PodManagers(),
		podSource:      newRewindable("pods", podSourceOf(clients.Kube, namespace)),
		revisionSource: newRewindable("controllerrevisions", revisionSourceOf(clients.Kube, namespace)),
		managerSource:  newRewindable("podmanagers", tolerantSource(clients.Dynamic, namespace, selector.String())),
		factories:      []informerFactory{kube, managers},
	}
	s.life = newLife(s)
	informer := func(source *rewindable, client any, object runtime.Object, resync time.Duration) cache.SharedIndexInformer {
		made := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source.listWatch(), client), object, resync,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		_ = made.SetWatchErrorHandlerWithContext(watchFailed) // can fail only once it runs
		return made
	}
	kube.InformerFor(&corev1.Pod{}, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return informer(s.podSource, clients.Kube, &corev1.Pod{}, resync)
	})
	kube.InformerFor(&appsv1.ControllerRevision{}, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return informer(s.revisionSource, clients.Kube, &appsv1.ControllerRevision{}, resync)
	})
	managers.InformerFor(&v1.PodManager{}, func(_ versioned.Interface, resync time.Duration) cache.SharedIndexInformer {
		return informer(s.managerSource, clients.Dynamic, &v1.PodManager{}, resync)
	})
	return s
}

// podSourceOf leaves out other people's pods: what we cost follows our own.
func podSourceOf(client kubernetes.Interface, namespace string) *cache.ListWatch {
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

// revisionSourceOf leaves out the revisions of StatefulSets and DaemonSets.
func revisionSourceOf(client kubernetes.Interface, namespace string) *cache.ListWatch {
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

// selects tells whether a PodManager is ours.
func (s Scope) selects(manager *v1.PodManager) bool {
	return s.selector == nil || s.selector.Matches(labels.Set(manager.Labels))
}

// sources are what the informers read from, with the stores that they fill.
func (s Scope) sources() map[*rewindable]cache.Store {
	sources := map[*rewindable]cache.Store{
		s.podSource:      s.Pods.Informer().GetStore(),
		s.revisionSource: s.Revisions.Informer().GetStore(),
		s.managerSource:  s.PodManagers.Informer().GetStore(),
	}
	delete(sources, nil)
	return sources
}

// Seen is how far the stores are.
func (s Scope) Seen() map[consistency.Resource]string {
	return map[consistency.Resource]string{
		PodsResource:      s.Pods.Informer().GetStore().LastStoreSyncResourceVersion(),
		RevisionsResource: s.Revisions.Informer().GetStore().LastStoreSyncResourceVersion(),
		ManagersResource:  s.PodManagers.Informer().GetStore().LastStoreSyncResourceVersion(),
	}
}

// Filled are done when the caches have been filled once.
func (s Scope) Filled() []cache.DoneChecker {
	return []cache.DoneChecker{
		s.Pods.Informer().HasSyncedChecker(), s.Revisions.Informer().HasSyncedChecker(), s.PodManagers.Informer().HasSyncedChecker(),
	}
}

func (s Scope) hasSynced() bool {
	return !slices.ContainsFunc(s.Filled(), func(checker cache.DoneChecker) bool { return !cache.IsDone(checker) })
}
