package podstate

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// IsFinished reports whether the pod has stopped for good: it has succeeded or failed. An evicted pod may have done either.
func IsFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func Condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// ReadySince returns when the pod became ready, by the API server's clock. It is zero while the pod is not ready.
func ReadySince(pod *corev1.Pod) time.Time {
	ready := Condition(pod, corev1.PodReady)
	if ready == nil || ready.Status != corev1.ConditionTrue {
		return time.Time{}
	}
	return ServerTime(pod, ready.LastTransitionTime.Time)
}

func IsReady(pod *corev1.Pod) bool {
	ready := Condition(pod, corev1.PodReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

// BecameReady reports whether the pod has become ready for the first time since it was created, compared with its old state, and how long that
// took.
func BecameReady(old, pod *corev1.Pod) (time.Duration, bool) {
	if IsReady(old) || !IsReady(pod) || MostRestarts(pod) > 0 {
		return 0, false
	}
	return ReadySince(pod).Sub(pod.CreationTimestamp.Time), true
}

// ContainerStatuses returns the statuses of all init containers and containers.
func ContainerStatuses(pod *corev1.Pod) iter.Seq[*corev1.ContainerStatus] {
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

// MostRestarts returns the highest restart count of the pod's containers, not of its init containers.
func MostRestarts(pod *corev1.Pod) int32 {
	var most int32
	for i := range pod.Status.ContainerStatuses {
		most = max(most, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return most
}

// FinishedAt returns when the pod failed or succeeded, as closely as its status shows. A pod that was evicted, or that the kubelet never admitted,
// may have no terminated containers. Times in the future are ignored, because the node's clock is wrong.
func FinishedAt(pod *corev1.Pod, now time.Time) time.Time {
	latest := pod.CreationTimestamp.Time
	later := func(t time.Time) {
		if t = ServerTime(pod, t); t.After(latest) && !t.After(now) {
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

// overdueAfter is how long after the end of its grace period a terminating pod becomes overdue.
const overdueAfter = 30 * time.Second

// UntilOverdue returns how long a terminating pod may still take to go away. If it is not positive, the pod is overdue: a finalizer, or a node that
// does not respond, keeps it.
func UntilOverdue(pod *corev1.Pod, now time.Time) time.Duration {
	return pod.DeletionTimestamp.Add(overdueAfter).Sub(now)
}

// IsMarked reports whether a user has marked the pod for deletion.
func IsMarked(pod *corev1.Pod) bool {
	return pod.Annotations[v1.AnnotationDelete] == "true"
}

// Split divides pods into active, finished and terminating ones. A finished pod that is being deleted is terminating.
func Split(pods []*corev1.Pod) (active, finished, terminating []*corev1.Pod) {
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
			terminating = append(terminating, pod)
		case IsFinished(pod):
			finished = append(finished, pod)
		default:
			active = append(active, pod)
		}
	}
	return active, finished, terminating
}

// KeepOrRelease separates the pods to keep from the pods to release because another client has changed their label. A terminating pod is kept: it
// occupies its name and index until it is gone.
func KeepOrRelease(manager *v1.PodManager, pods []*corev1.Pod) (kept, released []*corev1.Pod) {
	for _, pod := range pods {
		if pod.Labels[v1.LabelManager] == manager.Name || pod.DeletionTimestamp != nil {
			kept = append(kept, pod)
		} else {
			released = append(released, pod)
		}
	}
	return kept, released
}
