package source

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// The resources that the tracker follows.
const (
	PodsResource      consistency.Resource = "pods"
	RevisionsResource consistency.Resource = "controllerrevisions"
	ManagersResource  consistency.Resource = "podmanagers"
)

// IsManaged tells whether a PodManager controls a pod, or the pod is an orphan with the label of a PodManager.
func IsManaged(obj any) bool {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return false
	}
	_, orphan := OrphanOf(pod)
	return orphan || ControllerOf(pod) != nil
}

// byManager is the index of pods and revisions by the PodManager that they belong to: their controller, or, if they have none, the one
// whose label they carry. A sync asks it for its own objects, so that it costs the same in a cluster of ten pods as in one of a hundred
// thousand.
const byManager = "podManager"

func (s Scope) addIndexes() error {
	indexers := cache.Indexers{byManager: func(obj any) ([]string, error) {
		if key, found := ManagerKey(obj.(metav1.Object)); found {
			return []string{key.String()}, nil
		}
		return nil, nil
	}}
	if err := s.Revisions.Informer().AddIndexers(indexers); err != nil {
		return fmt.Errorf("adding an index to the revision informer: %w", err)
	}
	if err := s.Pods.Informer().AddIndexers(indexers); err != nil {
		return fmt.Errorf("adding an index to the pod informer: %w", err)
	}
	if err := s.Pods.Informer().AddIndexers(cache.Indexers{misplaced: s.indexMisplaced}); err != nil {
		return fmt.Errorf("adding the index of misplaced pods to the pod informer: %w", err)
	}
	return nil
}

// misplaced is the index, under this one value, of pods that carry the label of this shard and belong to a PodManager of another.
const misplaced = "misplaced"

func (s Scope) indexMisplaced(obj any) ([]string, error) {
	if key, found := ManagerKey(obj.(metav1.Object)); found && !s.shard.Has(key) {
		return []string{misplaced}, nil
	}
	return nil, nil
}

// Misplaced are the pods of this shard's cache that belong to a PodManager of another shard.
func (s Scope) Misplaced() ([]*corev1.Pod, error) {
	return byIndex[*corev1.Pod](s.Pods.Informer().GetIndexer(), misplaced, misplaced)
}

// ManagerKey is the key of the PodManager that a pod or revision belongs to: its controller or, if it has none, the one whose label it has.
func ManagerKey(object metav1.Object) (cache.ObjectName, bool) {
	if ref := ControllerOf(object); ref != nil {
		return cache.NewObjectName(object.GetNamespace(), ref.Name), true
	}
	return OrphanOf(object)
}

// Claims are the pods, or the revisions, that bear the name of a PodManager.
type Claims[T metav1.Object] struct {
	// Own have the PodManager as their controller. Orphans have none. Leftovers have a controller of the same name and another UID: a
	// PodManager that is gone, since a name is free only then.
	Own, Orphans, Leftovers []T
}

// Claim sorts objects by what they are to a PodManager, and leaves out those that are nothing to it.
func Claim[T metav1.Object](manager *v1.PodManager, objects []T) (claims Claims[T]) {
	for _, object := range objects {
		key, found := ManagerKey(object)
		switch ref := ControllerOf(object); {
		case !found || key != cache.MetaObjectToName(manager):
		case ref == nil:
			claims.Orphans = append(claims.Orphans, object)
		case ref.UID == manager.UID:
			claims.Own = append(claims.Own, object)
		default:
			claims.Leftovers = append(claims.Leftovers, object)
		}
	}
	return claims
}

// PodsOf are the pods that bear the name of a PodManager, sorted, so that the same pods always give the same plan.
func (s Scope) PodsOf(manager *v1.PodManager) (Claims[*corev1.Pod], error) {
	pods, err := indexed[*corev1.Pod](s.Pods.Informer().GetIndexer(), manager)
	if s.strays != nil && err == nil {
		var strays []*corev1.Pod
		strays, err = indexed[*corev1.Pod](s.strays.Pods.Informer().GetIndexer(), manager)
		pods = withStrays(pods, strays)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) })
	return Claim(manager, pods), err
}

// RevisionsOf are the revisions that bear the name of a PodManager, the oldest first.
func (s Scope) RevisionsOf(manager *v1.PodManager) (Claims[*appsv1.ControllerRevision], error) {
	revisions, err := indexed[*appsv1.ControllerRevision](s.Revisions.Informer().GetIndexer(), manager)
	if s.strays != nil && err == nil {
		var strays []*appsv1.ControllerRevision
		strays, err = indexed[*appsv1.ControllerRevision](s.strays.Revisions.Informer().GetIndexer(), manager)
		revisions = withStrays(revisions, strays)
	}
	slices.SortFunc(revisions, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return Claim(manager, revisions), err
}

// withStrays adds the strays. An object that has just come into the shard may be in both caches; that of the shard has the later version.
func withStrays[T metav1.Object](objects, strays []T) []T {
	for _, stray := range strays {
		isSame := func(object T) bool { return object.GetUID() == stray.GetUID() }
		if !slices.ContainsFunc(objects, isSame) {
			objects = append(objects, stray)
		}
	}
	return objects
}

func indexed[T metav1.Object](indexer cache.Indexer, manager *v1.PodManager) ([]T, error) {
	return byIndex[T](indexer, byManager, cache.MetaObjectToName(manager).String())
}

func byIndex[T metav1.Object](indexer cache.Indexer, index, value string) ([]T, error) {
	found, err := indexer.ByIndex(index, value)
	if err != nil {
		return nil, err
	}
	objects := make([]T, 0, len(found))
	for _, object := range found {
		objects = append(objects, object.(T))
	}
	return objects, nil
}

// PodNamed is the pod of this name in the cache, which has all pods with the label of a PodManager; nil if there is none.
func (s Scope) PodNamed(namespace, name string) *corev1.Pod {
	object, found, err := s.Pods.Informer().GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	switch {
	case err == nil && found:
		return object.(*corev1.Pod)
	case s.strays != nil:
		return s.strays.PodNamed(namespace, name)
	}
	return nil
}

// Newer returns each pod as the cache shows it if the cache has a newer version, and leaves out pods that the cache has seen deleted:
// carrying out a plan takes time, in which pods become ready or are deleted.
func (s Scope) Newer(pods []*corev1.Pod) []*corev1.Pod {
	store := s.Pods.Informer().GetStore().LastStoreSyncResourceVersion() // before reading the store: what is read is at least that new
	newer := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		cached := s.PodNamed(pod.Namespace, pod.Name)
		switch isSame := cached != nil && cached.UID == pod.UID; {
		case isSame && consistency.IsNewer(cached.ResourceVersion, pod.ResourceVersion):
			newer = append(newer, cached)
		case isSame || !consistency.IsNewer(store, pod.ResourceVersion):
			newer = append(newer, pod)
		}
	}
	return newer
}

// IsUpToDate tells whether the cache has exactly the pods of a live read, in the same versions.
func (s Scope) IsUpToDate(observed *plan.Observed) bool {
	pods, err := s.PodsOf(observed.Manager)
	if err != nil {
		return false
	}
	cached := map[types.UID]string{}
	for _, pod := range slices.Concat(pods.Own, pods.Orphans) {
		cached[pod.UID] = pod.ResourceVersion
	}
	live := slices.Concat(observed.Pods, observed.Orphans)
	differs := func(pod *corev1.Pod) bool { return cached[pod.UID] != pod.ResourceVersion }
	return len(live) == len(cached) && !slices.ContainsFunc(live, differs)
}

// ControllerOf is the controllerRef of an object if it refers to a PodManager; nil otherwise.
func ControllerOf(object metav1.Object) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil || ref.Kind != v1.Kind || ref.APIVersion != v1.GroupVersionKind.GroupVersion().String() {
		return nil
	}
	return ref
}

// OrphanOf is the key of the PodManager whose label a pod or revision without a controller has.
func OrphanOf(object metav1.Object) (cache.ObjectName, bool) {
	name := object.GetLabels()[v1.LabelManager]
	if name == "" || metav1.GetControllerOfNoCopy(object) != nil {
		return cache.ObjectName{}, false
	}
	return cache.NewObjectName(object.GetNamespace(), name), true
}
