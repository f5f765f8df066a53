package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// podState is what is counted of a pod.
type podState struct {
	// image is what its container runs, which an image changed in place is not before the node has followed.
	image string
	// ready is said of the image in the spec.
	ready, ending bool
}

func stateOfPod(object runtime.Object) podState {
	pod := object.(*corev1.Pod)
	state := podState{image: pod.Spec.Containers[0].Image, ending: pod.DeletionTimestamp != nil}
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

// ownerState is what is counted of a PodManager, ReplicaSet or Deployment.
type ownerState struct {
	// counted tells that the status speaks of the present spec, and that there are as many pods as that wants.
	counted bool
	// settled tells that besides, by its status, all is done.
	settled bool
	// good tells that nothing more is to come: a PodManager has looked at its pods for a while, and then made their
	// revision the one to return to.
	good bool
}

func stateOfOwner(object runtime.Object) ownerState {
	switch owner := object.(type) {
	case *v1.PodManager:
		status := owner.Status
		counted := status.ObservedGeneration == owner.Generation && int(status.Replicas) == owner.DesiredReplicas()
		settled := counted && meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady) && status.TerminatingReplicas == 0
		good := settled && status.CurrentRevision != "" && status.CurrentRevision == status.UpdateRevision
		return ownerState{counted: counted, settled: settled, good: good}
	case *appsv1.ReplicaSet:
		status := owner.Status
		counted := status.ObservedGeneration == owner.Generation && status.Replicas == *owner.Spec.Replicas
		settled := counted && status.ReadyReplicas == *owner.Spec.Replicas
		return ownerState{counted: counted, settled: settled, good: settled}
	case *appsv1.Deployment:
		status := owner.Status
		wanted := *owner.Spec.Replicas
		counted := status.ObservedGeneration == owner.Generation && status.Replicas == wanted
		settled := counted && status.UpdatedReplicas == wanted && status.AvailableReplicas == wanted
		return ownerState{counted: counted, settled: settled, good: settled}
	default:
		return ownerState{}
	}
}

// lister is a typed client for one kind in all namespaces.
type lister[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

func sourceOf[L runtime.Object](client lister[L]) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: client.Watch,
	}
}

// censuses count all that is watched.
type censuses struct {
	pods                               *census[podState]
	managers, replicaSets, deployments *census[ownerState]
}

func newCensuses(ctx context.Context, c *clients) (*censuses, error) {
	all := &censuses{}
	var err error
	if all.pods, err = newCensus(ctx, sourceOf(c.kube.CoreV1().Pods("")), c.kube, &corev1.Pod{}, stateOfPod); err != nil {
		return nil, err
	}
	if all.managers, err = newCensus(ctx, sourceOf(c.podManagers.AppsV1().PodManagers("")), c.podManagers, &v1.PodManager{}, stateOfOwner); err != nil {
		return nil, err
	}
	if all.replicaSets, err = newCensus(ctx, sourceOf(c.kube.AppsV1().ReplicaSets("")), c.kube, &appsv1.ReplicaSet{}, stateOfOwner); err != nil {
		return nil, err
	}
	all.deployments, err = newCensus(ctx, sourceOf(c.kube.AppsV1().Deployments("")), c.kube, &appsv1.Deployment{}, stateOfOwner)
	return all, err
}

// What is waited for.

func allExist(pods int) func(tally[podState]) bool {
	return func(t tally[podState]) bool { return t.total() >= pods }
}

func allReady(pods int) func(tally[podState]) bool {
	return func(t tally[podState]) bool { return available(t) >= pods }
}

// active counts the pods that are not on their way out, available those of them that are ready.
func active(t tally[podState]) int { return t.count(func(s podState) bool { return !s.ending }) }

func available(t tally[podState]) int {
	return t.count(func(s podState) bool { return s.ready && !s.ending })
}

func allGone(t tally[podState]) bool { return t.total() == 0 }

// allUpdated holds when as many pods as wanted run an image and are ready, and there is no other pod.
func allUpdated(pods int, image string) func(tally[podState]) bool {
	return func(t tally[podState]) bool {
		return t[podState{image: image, ready: true}] == pods && t.total() == pods
	}
}

// allReplaced is the same, but for pods that are on their way out: they may take their time.
func allReplaced(pods int, image string) func(tally[podState]) bool {
	return func(t tally[podState]) bool {
		return t[podState{image: image, ready: true}] == pods && active(t) == pods
	}
}

func allSettled(owners int) func(tally[ownerState]) bool {
	return func(t tally[ownerState]) bool {
		return t.count(func(s ownerState) bool { return s.settled }) == owners
	}
}

func allGood(owners int) func(tally[ownerState]) bool {
	return func(t tally[ownerState]) bool {
		return t.count(func(s ownerState) bool { return s.good }) == owners
	}
}

// allCounted holds when the statuses of all owners speak of the pods that are wanted.
func allCounted(owners int) func(tally[ownerState]) bool {
	return func(t tally[ownerState]) bool {
		return t.count(func(s ownerState) bool { return s.counted }) == owners
	}
}
