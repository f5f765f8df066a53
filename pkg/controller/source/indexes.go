package source

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// The resources that a Tracker follows.
const (
	PodsResource      consistency.Resource = "pods"
	RevisionsResource consistency.Resource = "controllerrevisions"
	ManagersResource  consistency.Resource = "podmanagers"
)

// byManager is the index of pods and revisions by the PodManager that they belong to: their controller or, if they have none, the PodManager
// in their label. A sync looks up its own objects in it, so that a sync costs the same in a cluster with ten pods as in one with a hundred
// thousand.
const byManager = "podManager"

func indexManager(obj any) ([]string, error) {
	if key, found := ManagerKey(obj.(metav1.Object)); found {
		return []string{key.String()}, nil
	}
	return nil, nil
}

// Misplaced returns the pods in this shard's cache that belong to a PodManager of another shard.
func (s Scope) Misplaced() (misplaced []*corev1.Pod) {
	for _, obj := range s.Pods[0].GetStore().List() {
		if key, found := ManagerKey(obj.(metav1.Object)); found && !s.shard.Has(key) {
			misplaced = append(misplaced, obj.(*corev1.Pod))
		}
	}
	return misplaced
}

// ManagerKey returns the key of the PodManager that a pod or revision belongs to: its controller or, if it has none, the PodManager in its
// label.
func ManagerKey(object metav1.Object) (cache.ObjectName, bool) {
	if ref := ControllerOf(object); ref != nil {
		return cache.NewObjectName(object.GetNamespace(), ref.Name), true
	}
	return OrphanOf(object)
}

// Claims are the pods or revisions that refer to a PodManager by name.
type Claims[T metav1.Object] struct {
	// Own objects have the PodManager as their controller. Orphans have no controller. Leftovers have a controller with the same name but
	// another UID. That PodManager is gone, because otherwise its name would not be free.
	Own, Orphans, Leftovers []T
}

// Claim sorts objects by their relation to a PodManager, and leaves out unrelated ones.
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

// PodsOf returns the pods that refer to a PodManager by name. They are sorted, so that the same pods always result in the same plan.
func (s Scope) PodsOf(manager *v1.PodManager) Claims[*corev1.Pod] {
	pods := indexed[*corev1.Pod](s.Pods, manager)
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) })
	return Claim(manager, pods)
}

// RevisionsOf returns the revisions that refer to a PodManager by name, the oldest first.
func (s Scope) RevisionsOf(manager *v1.PodManager) Claims[*appsv1.ControllerRevision] {
	revisions := indexed[*appsv1.ControllerRevision](s.Revisions, manager)
	slices.SortFunc(revisions, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return Claim(manager, revisions)
}

// indexed returns the objects that refer to a PodManager by name. An object that has just joined a shard may be in both caches. The shard's
// cache, which is the first one, has the newer version.
func indexed[T metav1.Object](informers []cache.SharedIndexInformer, manager *v1.PodManager) (objects []T) {
	for _, informer := range informers {
		found, _ := informer.GetIndexer().ByIndex(byManager, cache.MetaObjectToName(manager).String()) // fails only without the index
		known := objects
		for _, object := range found {
			isSame := func(other T) bool { return other.GetUID() == object.(T).GetUID() }
			if !slices.ContainsFunc(known, isSame) {
				objects = append(objects, object.(T))
			}
		}
	}
	return objects
}

// PodNamed returns the pod with this name from the cache, which has all pods with the label of a PodManager. It returns nil if there is none.
func (s Scope) PodNamed(namespace, name string) *corev1.Pod {
	for _, informer := range s.Pods {
		if object, found, _ := informer.GetStore().GetByKey(cache.NewObjectName(namespace, name).String()); found {
			return object.(*corev1.Pod)
		}
	}
	return nil
}

// ManagerNamed returns the PodManager with this key from the cache. It returns nil if there is none.
func (s Scope) ManagerNamed(key cache.ObjectName) *v1.PodManager {
	manager, err := s.PodManagers.Lister().PodManagers(key.Namespace).Get(key.Name)
	if err != nil { // a lister fails only if there is none
		return nil
	}
	return manager
}

// Newer returns each pod as the cache shows it if the cache has a newer version, and leaves out pods that the cache has seen deleted. While a
// plan is carried out, pods may become ready or be deleted.
func (s Scope) Newer(pods []*corev1.Pod) []*corev1.Pod {
	store := s.Pods[0].GetStore().LastStoreSyncResourceVersion() // before reading the store: what is read is at least that new
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

// ControllerOf returns the controllerRef of an object if it refers to a PodManager, and nil otherwise.
func ControllerOf(object metav1.Object) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil || ref.Kind != v1.Kind || ref.APIVersion != v1.GroupVersionKind.GroupVersion().String() {
		return nil
	}
	return ref
}

// OrphanOf returns the key of the PodManager in the label of a pod or revision that has no controller.
func OrphanOf(object metav1.Object) (cache.ObjectName, bool) {
	name := object.GetLabels()[v1.LabelManager]
	if name == "" || metav1.GetControllerOfNoCopy(object) != nil {
		return cache.ObjectName{}, false
	}
	return cache.NewObjectName(object.GetNamespace(), name), true
}
