package census

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// PodState is the part of a pod that is counted.
type PodState struct {
	// image is the image that the container runs. After an update in place, it changes only when the node has carried out the update.
	image string
	// ready refers to the image in the spec.
	ready, ending bool
}

func stateOfPod(object runtime.Object) PodState {
	pod := object.(*corev1.Pod)
	state := PodState{image: pod.Spec.Containers[0].Image, ending: pod.DeletionTimestamp != nil}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			state.ready = condition.Status == corev1.ConditionTrue
		}
	}
	if len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].Image != state.image {
		state.image, state.ready = pod.Status.ContainerStatuses[0].Image, false
	}
	return state
}

// Pods counts pods.
type Pods = Census[PodState]

// OwnerState is the part of a PodManager, ReplicaSet or Deployment that is counted.
type OwnerState struct {
	// counted is set if the status is about the present spec, and there are as many pods as the spec wants.
	counted bool
	// settled is set if, in addition, the status shows that everything is done.
	settled bool
	// good is set if nothing more will happen: a PodManager has observed its pods for a while, and has then made their revision the one to return
	// to.
	good bool
}

// Owners counts PodManagers, ReplicaSets or Deployments.
type Owners = Census[OwnerState]

func stateOfOwner(object runtime.Object) OwnerState {
	switch owner := object.(type) {
	case *v1.PodManager:
		status := owner.Status
		counted := status.ObservedGeneration == owner.Generation && int(status.Replicas) == owner.DesiredReplicas()
		settled := counted && meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) && status.TerminatingReplicas == 0
		good := settled && status.CurrentRevision != "" && status.CurrentRevision == status.UpdateRevision
		return OwnerState{counted: counted, settled: settled, good: good}
	case *appsv1.ReplicaSet:
		status := owner.Status
		counted := status.ObservedGeneration == owner.Generation && status.Replicas == *owner.Spec.Replicas
		settled := counted && status.ReadyReplicas == *owner.Spec.Replicas
		return OwnerState{counted: counted, settled: settled, good: settled}
	case *appsv1.Deployment:
		status := owner.Status
		wanted := *owner.Spec.Replicas
		counted := status.ObservedGeneration == owner.Generation && status.Replicas == wanted
		settled := counted && status.UpdatedReplicas == wanted && status.AvailableReplicas == wanted
		return OwnerState{counted: counted, settled: settled, good: settled}
	default:
		return OwnerState{}
	}
}
