package plan

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// hasEnded tells whether the pod has stopped for good. An evicted pod is one that Failed.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// readySince is when the pod became ready; zero while it is not.
func readySince(pod *corev1.Pod) time.Time {
	ready := condition(pod, corev1.PodReady)
	if ready == nil || ready.Status != corev1.ConditionTrue {
		return time.Time{}
	}
	return ready.LastTransitionTime.Time
}

func isReady(pod *corev1.Pod) bool {
	ready := condition(pod, corev1.PodReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

// BecameReady tells whether a change has made the pod ready for the first time since it was created, and how long that
// took.
func BecameReady(old, pod *corev1.Pod) (time.Duration, bool) {
	if isReady(old) || !isReady(pod) || restarts(pod) > 0 {
		return 0, false
	}
	return readySince(pod).Sub(pod.CreationTimestamp.Time), true
}

// isInService tells whether the pod serves: it is ready, it runs on a node that is not lost, and it is not being changed. What a
// pod says of itself that is being changed is no longer true; one that has to wait for its CPU or memory serves.
func isInService(pod *corev1.Pod) bool {
	return isReady(pod) && pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" &&
		!isDrained(pod) && (!isChanging(pod) || isHeldUp(pod))
}

// untilAvailable is how long a pod that is in service has to stay so to be available; false if it is not in service.
func untilAvailable(pod *corev1.Pod, minReady time.Duration, now time.Time) (time.Duration, bool) {
	if !isInService(pod) {
		return 0, false
	}
	if minReady == 0 {
		return 0, true
	}
	since := readySince(pod)
	if changed := changedAt(pod); changed.After(since) && !isHeldUp(pod) {
		since = changed
	}
	return max(0, since.Add(minReady).Sub(now)), true
}

// isAvailable tells whether the pod can be relied on. It is the only judge of that, for what is done and for what is said.
func isAvailable(pod *corev1.Pod, minReady time.Duration, now time.Time) bool {
	wait, inService := untilAvailable(pod, minReady, now)
	return inService && wait == 0
}

// containerStatuses are those of all containers, the ones that run first included.
func containerStatuses(pod *corev1.Pod) iter.Seq[*corev1.ContainerStatus] {
	return func(yield func(*corev1.ContainerStatus) bool) {
		for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range statuses {
				if !yield(&statuses[i]) {
					return
				}
			}
		}
	}
}

func restarts(pod *corev1.Pod) int32 {
	var most int32
	for i := range pod.Status.ContainerStatuses {
		most = max(most, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return most
}

// endedAt is when the pod failed or succeeded, as near as its status tells: a pod that was evicted, or never admitted
// to its node, has no containers that could have ended. Times in the future are those of a node whose clock is wrong.
func endedAt(pod *corev1.Pod, now time.Time) time.Time {
	latest := pod.CreationTimestamp.Time
	later := func(t time.Time) {
		if t.After(latest) && !t.After(now) {
			latest = t
		}
	}
	if pod.Status.StartTime != nil {
		later(pod.Status.StartTime.Time)
	}
	for i := range pod.Status.Conditions {
		later(pod.Status.Conditions[i].LastTransitionTime.Time)
	}
	for i := range pod.Status.ContainerStatuses {
		if terminated := pod.Status.ContainerStatuses[i].State.Terminated; terminated != nil {
			later(terminated.FinishedAt.Time)
		}
	}
	return latest
}

// isMarked tells whether somebody has asked for this pod to go.
func isMarked(pod *corev1.Pod) bool {
	return pod.Annotations[v1.AnnotationDelete] == "true"
}

// split tells the active pods from those that have ended and still stand, and those that are ending.
func split(pods []*corev1.Pod) (active, ended, ending []*corev1.Pod) {
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
			ending = append(ending, pod)
		case hasEnded(pod):
			ended = append(ended, pod)
		default:
			active = append(active, pod)
		}
	}
	return active, ended, ending
}
