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

// The indexes of the informers. A sync finds its own objects by index, so that it costs the same among ten pods as among a hundred
// thousand.
const (
	// ByController is the index by the UID of the PodManager that controls a pod or revision.
	ByController = "controllerUID"
	// ByOrphanLabel is the index by namespace/name of the PodManager whose label a pod or revision without a controller has.
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

// PodsBy returns the pods that an index has for a value, sorted, so that the same pods always give the same plan.
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

// RevisionsBy returns the revisions that an index has for a value, the oldest first.
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

// PodNamed is the pod of this name in the cache, which has all pods with the label of a PodManager; nil if there is none.
func (s Scope) PodNamed(namespace, name string) *corev1.Pod {
	object, found, err := s.Pods.Informer().GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	if err != nil || !found {
		return nil
	}
	return object.(*corev1.Pod)
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

// Shows tells whether the cache has exactly the pods of a live read, in the same versions.
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
