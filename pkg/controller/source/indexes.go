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

// IsManaged lets those pods through that have a PodManager, or carry the label of one.
func IsManaged(obj any) bool {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return false
	}
	_, orphan := OrphanOf(pod)
	return orphan || ControllerOf(pod) != nil
}

// The indexes of the informers. A sync asks them for its own objects, so that it costs the same in a cluster of ten
// pods as in one of a hundred thousand.
const (
	// ByController has the UID of the PodManager that controls the pod or revision.
	ByController = "controllerUID"
	// ByOrphanLabel has namespace/name of the PodManager whose label a pod or revision without a controller carries.
	ByOrphanLabel = "orphanOf"
)

func (s Scope) addIndexes() error {
	indexers := cache.Indexers{
		ByController: func(obj any) ([]string, error) {
			if ref := ControllerOf(obj.(metav1.Object)); ref != nil {
				return []string{string(ref.UID)}, nil
			}
			return nil, nil
		},
		ByOrphanLabel: func(obj any) ([]string, error) {
			if owner, found := OrphanOf(obj.(metav1.Object)); found {
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

// PodsBy returns the pods that an index has under a value, sorted, so that the same pods always give the same plan.
func (s Scope) PodsBy(index, value string) ([]*corev1.Pod, error) {
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

// RevisionsBy returns the revisions that an index has under a value, the oldest first.
func (s Scope) RevisionsBy(index, value string) ([]*appsv1.ControllerRevision, error) {
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

// PodNamed is the pod of this name in the cache, which has all that carry the label of a PodManager; nil if there is none.
func (s Scope) PodNamed(namespace, name string) *corev1.Pod {
	object, found, err := s.Pods.Informer().GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	if err != nil || !found {
		return nil
	}
	return object.(*corev1.Pod)
}

// Newer has the pods as the cache shows them, where it knows more: carrying out a plan takes time, in which pods have
// become ready or were deleted.
func (s Scope) Newer(pods []*corev1.Pod) []*corev1.Pod {
	store := s.Pods.Informer().GetStore().LastStoreSyncResourceVersion() // asked first: what is read then is at least that new
	now := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		cached := s.PodNamed(pod.Namespace, pod.Name)
		switch isSame := cached != nil && cached.UID == pod.UID; {
		case isSame && consistency.IsNewer(cached.ResourceVersion, pod.ResourceVersion):
			now = append(now, cached)
		case isSame || !consistency.IsNewer(store, pod.ResourceVersion):
			now = append(now, pod)
		}
	}
	return now
}

// Shows tells whether the cache has exactly the pods that were read from the API server itself.
func (s Scope) Shows(key cache.ObjectName, observed *plan.Observed) bool {
	pods, err := s.PodsBy(ByController, string(observed.Manager.UID))
	orphans, orphansErr := s.PodsBy(ByOrphanLabel, key.String())
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

// ControllerOf is an object's controller reference if that is a PodManager.
func ControllerOf(object metav1.Object) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil || ref.Kind != v1.Kind || ref.APIVersion != v1.GroupVersionKind.GroupVersion().String() {
		return nil
	}
	return ref
}

// OrphanOf is the PodManager whose label a pod or revision without a controller carries.
func OrphanOf(object metav1.Object) (cache.ObjectName, bool) {
	name := object.GetLabels()[v1.LabelManager]
	if name == "" || metav1.GetControllerOfNoCopy(object) != nil {
		return cache.ObjectName{}, false
	}
	return cache.NewObjectName(object.GetNamespace(), name), true
}
