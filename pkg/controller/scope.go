package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

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

// seen is how far the stores are.
func (s Scope) seen() map[consistency.Resource]string {
	return map[consistency.Resource]string{
		podsResource:      s.Pods.Informer().GetStore().LastStoreSyncResourceVersion(),
		revisionsResource: s.Revisions.Informer().GetStore().LastStoreSyncResourceVersion(),
		managersResource:  s.PodManagers.Informer().GetStore().LastStoreSyncResourceVersion(),
	}
}

// The indexes of the informers. A sync asks them for its own objects, so that it costs the same in a cluster of ten
// pods as in one of a hundred thousand.
const (
	// byController has the UID of the PodManager that controls the pod or revision.
	byController = "controllerUID"
	// byOrphanLabel has namespace/name of the PodManager whose label a pod or revision without a controller carries.
	byOrphanLabel = "orphanOf"
)

func (s Scope) addIndexes() error {
	indexers := cache.Indexers{
		byController: func(obj any) ([]string, error) {
			if ref := controllerOf(obj.(metav1.Object)); ref != nil {
				return []string{string(ref.UID)}, nil
			}
			return nil, nil
		},
		byOrphanLabel: func(obj any) ([]string, error) {
			if owner, found := orphanOf(obj.(metav1.Object)); found {
				return []string{owner.String()}, nil
			}
			return nil, nil
		},
	}
	if err := s.Revisions.Informer().AddIndexers(indexers); err != nil {
		return fmt.Errorf("adding indexes to the revision informer: %w", err)
	}
	if err := s.Pods.Informer().AddIndexers(indexers); err != nil {
		return fmt.Errorf("adding indexes to the pod informer: %w", err)
	}
	return nil
}

// filled are done when the caches have been filled once.
func (s Scope) filled() []cache.DoneChecker {
	return []cache.DoneChecker{
		s.Pods.Informer().HasSyncedChecker(), s.Revisions.Informer().HasSyncedChecker(), s.PodManagers.Informer().HasSyncedChecker(),
	}
}

func (s Scope) hasSynced() bool {
	return !slices.ContainsFunc(s.filled(), func(checker cache.DoneChecker) bool { return !cache.IsDone(checker) })
}

// indexed returns the pods that an index has under a value, sorted, so that the same pods always give the same plan.
func (s Scope) indexed(index, value string) ([]*corev1.Pod, error) {
	objects, err := s.Pods.Informer().GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil, err
	}
	pods := make([]*corev1.Pod, 0, len(objects))
	for _, object := range objects {
		pods = append(pods, object.(*corev1.Pod))
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) })
	return pods, nil
}

// revisionsBy returns the revisions that an index has under a value, the oldest first.
func (s Scope) revisionsBy(index, value string) ([]*appsv1.ControllerRevision, error) {
	objects, err := s.Revisions.Informer().GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil, err
	}
	revisions := make([]*appsv1.ControllerRevision, 0, len(objects))
	for _, object := range objects {
		revisions = append(revisions, object.(*appsv1.ControllerRevision))
	}
	slices.SortFunc(revisions, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return revisions, nil
}

// podNamed is the pod of this name in the cache, which has all that carry the label of a PodManager; nil if there is none.
func (s Scope) podNamed(namespace, name string) *corev1.Pod {
	object, found, err := s.Pods.Informer().GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	if err != nil || !found {
		return nil
	}
	return object.(*corev1.Pod)
}

// newer has the pods as the cache shows them, where it knows more: carrying out a plan takes time, in which pods have
// become ready or were deleted.
func (s Scope) newer(pods []*corev1.Pod) []*corev1.Pod {
	store := s.Pods.Informer().GetStore().LastStoreSyncResourceVersion() // asked first: what is read then is at least that new
	now := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		cached := s.podNamed(pod.Namespace, pod.Name)
		switch isSame := cached != nil && cached.UID == pod.UID; {
		case isSame && consistency.IsNewer(cached.ResourceVersion, pod.ResourceVersion):
			now = append(now, cached)
		case isSame || !consistency.IsNewer(store, pod.ResourceVersion):
			now = append(now, pod)
		}
	}
	return now
}

// shows tells whether the cache has exactly the pods that were read from the API server itself.
func (s Scope) shows(key cache.ObjectName, observed *plan.Observed) bool {
	pods, err := s.indexed(byController, string(observed.Manager.UID))
	orphans, orphansErr := s.indexed(byOrphanLabel, key.String())
	if err != nil || orphansErr != nil {
		return false
	}
	cached := map[types.UID]string{}
	for _, pod := range slices.Concat(pods, orphans) {
		cached[pod.UID] = pod.ResourceVersion
	}
	live := slices.Concat(observed.Pods, observed.Orphans)
	isOther := func(pod *corev1.Pod) bool { return cached[pod.UID] != pod.ResourceVersion }
	return len(live) == len(cached) && !slices.ContainsFunc(live, isOther)
}

// ByNamespace has the scope of each namespace.
type ByNamespace map[string]Scope

// newByNamespace sorts scopes, and gives their informers the indexes that syncs ask.
func newByNamespace(scopes []Scope) (ByNamespace, error) {
	sorted := make(ByNamespace, len(scopes))
	for _, scope := range scopes {
		sorted[scope.Namespace] = scope
		if err := scope.addIndexes(); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}

// of is the scope that a namespace belongs to.
func (b ByNamespace) of(namespace string) Scope {
	if scope, found := b[namespace]; found {
		return scope
	}
	return b[metav1.NamespaceAll]
}

// live reads a PodManager from the API server. One that the selector leaves out is not ours: it counts as gone.
func (b ByNamespace) live(ctx context.Context, client versioned.Interface, key cache.ObjectName) (*v1.PodManager, error) {
	manager, err := client.AppsV1().PodManagers(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err == nil && !b.of(key.Namespace).selects(manager) {
		return nil, apierrors.NewNotFound(v1.Resource("podmanagers"), key.Name)
	}
	return manager, err
}

// controllerOf is an object's controller reference if that is a PodManager.
func controllerOf(object metav1.Object) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil || ref.Kind != v1.Kind || ref.APIVersion != v1.GroupVersionKind.GroupVersion().String() {
		return nil
	}
	return ref
}

// orphanOf is the PodManager whose label a pod or revision without a controller carries.
func orphanOf(object metav1.Object) (cache.ObjectName, bool) {
	name := object.GetLabels()[v1.LabelManager]
	if name == "" || metav1.GetControllerOfNoCopy(object) != nil {
		return cache.ObjectName{}, false
	}
	return cache.NewObjectName(object.GetNamespace(), name), true
}
