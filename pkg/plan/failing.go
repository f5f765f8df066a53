package plan

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A pod is judged by what does not flap: a container that has crashed keeps its count of restarts while it is ready in
// between. So a pod of a new revision is failing from its first failure until it has been available for long enough.

// isFailing tells whether the pod has failed and has not made up for it yet.
func isFailing(manager *v1.PodManager, pod *corev1.Pod, now time.Time) bool {
	return hasFailed(pod) && (!isReady(pod) || untilRecovered(manager, pod, now) > 0)
}

// untilRecovered is how long a pod that is ready still has to stay so, for its failures to be forgiven.
func untilRecovered(manager *v1.PodManager, pod *corev1.Pod, now time.Time) time.Duration {
	return max(0, readySince(pod).Add(manager.MinReady()+manager.FailureGrace()).Sub(now))
}

// untilForgotten is for how much longer a pod that has ended counts.
func untilForgotten(pod *corev1.Pod, now time.Time) time.Duration {
	return max(0, endedAt(pod, now).Add(lastBackOff).Sub(now))
}

// hasFailed tells whether the pod shows that it, or one in whose place it was made, has failed. What was done to it is not its
// failure.
func hasFailed(pod *corev1.Pod) bool {
	switch {
	case disruption(pod) != "":
		return false
	case failuresBefore(pod) > disruptionsBefore(pod), hasEnded(pod):
		return true
	}
	for status := range containerStatuses(pod) {
		if crashes(pod, status) > 0 || (containerTrouble(status) != "" && !isBeingChanged(pod, status)) {
			return true
		}
	}
	return false
}

// lastCrash is when a container of the pod last ended.
func lastCrash(pod *corev1.Pod) time.Time {
	var latest time.Time
	for status := range containerStatuses(pod) {
		for _, terminated := range []*corev1.ContainerStateTerminated{status.State.Terminated, status.LastTerminationState.Terminated} {
			if terminated != nil && terminated.FinishedAt.After(latest) {
				latest = terminated.FinishedAt.Time
			}
		}
	}
	return latest
}

// isCondemned tells whether a failing pod has had its chance: when the time to recover was over it was not ready, or it
// has not been since.
func isCondemned(manager *v1.PodManager, pod *corev1.Pod, failingSince, now time.Time) bool {
	end := failingSince.Add(manager.FailureGrace())
	return !now.Before(end) && (!isReady(pod) || readySince(pod).After(end) || lastCrash(pod).After(end))
}

// failureOf says how the pods fail, by the example of the first that does. The text is the same whether a container that
// crashes again and again is up or down at the moment.
func failureOf(failing []*corev1.Pod) string {
	failing = slices.SortedFunc(slices.Values(failing), func(a, b *corev1.Pod) int { return ByIndex(a.Name, b.Name) })
	for _, pod := range failing {
		for status := range containerStatuses(pod) {
			last := status.LastTerminationState.Terminated
			switch count := crashes(pod, status); {
			case last != nil && count > 1:
				return fmt.Sprintf("%s: container %s: CrashLoopBackOff: %s", pod.Name, status.Name, ending(last))
			case containerTrouble(status) != "":
				return pod.Name + ": " + containerTrouble(status)
			case last != nil && count > 0:
				return fmt.Sprintf("%s: container %s: %s", pod.Name, status.Name, ending(last))
			}
		}
		if why := oneLine(pod.Status.Reason, pod.Status.Message); hasEnded(pod) && why != "" {
			return pod.Name + " has failed: " + why
		}
	}
	if len(failing) == 0 {
		return ""
	}
	return failing[0].Name + ": takes the place of a pod that has failed"
}
