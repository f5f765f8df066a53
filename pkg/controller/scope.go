package controller

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	podmanagerinformers "github.com/mycompany/podmanager/pkg/generated/informers/externalversions/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
)

// Scope is what the controller watches in one namespace, or (metav1.NamespaceAll) in all of them.
type Scope struct {
	Namespace   string
	Pods        coreinformers.PodInformer
	PodManagers podmanagerinformers.PodManagerInformer
}

// The indexes of the pod informers. A sync asks them for its own pods, so that it costs the same in a cluster of ten
// pods as in one of a hundred thousand.
const (
	// byController has the UID of the PodManager that controls the pod.
	byController = "controllerUID"
	// byOrphanLabel has namespace/name of the PodManager whose label an uncontrolled pod carries.
	byOrphanLabel = "orphanOf"
)

func (s Scope) addIndexes() error {
	err := s.Pods.Informer().AddIndexers(cache.Indexers{
		byController: func(obj any) ([]string, error) {
			if ref := controllerOf(obj.(*corev1.Pod)); ref != nil {
				return []string{string(ref.UID)}, nil
			}
			return nil, nil
		},
		byOrphanLabel: func(obj any) ([]string, error) {
			if owner, found := orphanOf(obj.(*corev1.Pod)); found {
				return []string{owner.String()}, nil
			}
			return nil, nil
		},
	})
	if err != nil {
		return fmt.Errorf("adding indexes to the pod informer: %w", err)
	}
	return nil
}

func (s Scope) hasSynced() bool {
	return s.Pods.Informer().HasSynced() && s.PodManagers.Informer().HasSynced()
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
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return plan.ByIndex(a.Name, b.Name) })
	return pods, nil
}

// podNamed is the pod of this name in the cache, whoever it belongs to; nil if there is none.
func (s Scope) podNamed(namespace, name string) *corev1.Pod {
	object, found, err := s.Pods.Informer().GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	if err != nil || !found {
		return nil
	}
	return object.(*corev1.Pod)
}

// scopeOf is the scope that a namespace belongs to.
func (c *Controller) scopeOf(namespace string) Scope {
	if scope, found := c.scopes[namespace]; found {
		return scope
	}
	return c.scopes[metav1.NamespaceAll]
}

// controllerOf is the pod's controller reference if that is a PodManager.
func controllerOf(pod *corev1.Pod) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || ref.Kind != v1.Kind || ref.APIVersion != v1.GroupVersionKind.GroupVersion().String() {
		return nil
	}
	return ref
}

// orphanOf is the PodManager whose label a pod without a controller carries.
func orphanOf(pod *corev1.Pod) (cache.ObjectName, bool) {
	name := pod.Labels[v1.LabelManager]
	if name == "" || metav1.GetControllerOfNoCopy(pod) != nil {
		return cache.ObjectName{}, false
	}
	return cache.NewObjectName(pod.Namespace, name), true
}
