package source

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/mycompany/podmanager/pkg/controller/metrics"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// Trim drops the fields of a pod or revision that pkg/plan never reads, so that the caches of a large cluster stay small. It runs while the
// informers read the next object. An informer's own transform would run only after all objects are read, and twice.
func Trim(object runtime.Object) {
	switch object := object.(type) {
	case *appsv1.ControllerRevision:
		object.ManagedFields = nil
	case *corev1.Pod:
		metrics.PodEvents.Inc()
		podstate.Trim(object)
		if _, isManaged := ManagerKey(object); !isManaged {
			// Another controller controls this pod although it has our label. The plan needs its name, which is taken, and its labels and
			// owners, which show that it is not ours.
			object.Annotations = nil
			object.Spec = corev1.PodSpec{}
			object.Status = corev1.PodStatus{}
		}
	}
}
