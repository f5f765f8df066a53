package source

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// TrimPod is the informers' transform. It drops the fields that pkg/plan never reads, so that the caches of a large cluster stay small.
func TrimPod(obj any) (any, error) {
	switch object := obj.(type) {
	case *appsv1.ControllerRevision:
		object.ManagedFields = nil
	case *corev1.Pod:
		metrics.PodEvents.Inc()
		podstate.Trim(object)
		if !IsManaged(object) {
			// A pod with our label that another controller controls: the plan needs its name, which is taken, and its labels and owners,
			// which show that it is not ours.
			object.Annotations = nil
			object.Spec = corev1.PodSpec{}
			object.Status = corev1.PodStatus{}
		}
	}
	return obj, nil // a tombstone stays as it is
}
