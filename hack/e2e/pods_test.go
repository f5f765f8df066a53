//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What tests ask about pods, one at a time or all together; see podWatch for asking about the past.

func isActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

// serves tells whether a pod can be relied on at this version of it: it is ready, nothing keeps it out of its Services, and
// its node has caught up with its spec. The last two are ahead of the Ready condition, which the node sets.
func serves(pod *corev1.Pod) bool {
	is := map[corev1.PodConditionType]bool{}
	for _, condition := range pod.Status.Conditions {
		is[condition.Type] = condition.Status == corev1.ConditionTrue
	}
	for _, gate := range pod.Spec.ReadinessGates {
		if !is[gate.ConditionType] {
			return false
		}
	}
	return is[corev1.PodReady] && pod.Status.Phase == corev1.PodRunning && pod.Status.ObservedGeneration >= pod.Generation
}

// servesImage is for images that are ready now and then, but never to be relied on.
func servesImage(image string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { return serves(pod) && pod.Spec.Containers[0].Image == image }
}

// within holds if at least so many pods are good, and at most so many exist; those that are terminating are neither.
func within(least, most int, isGood func(*corev1.Pod) bool) invariant {
	return func(pods []*corev1.Pod, _ time.Time) string {
		good, exist := 0, 0
		others := &strings.Builder{}
		for _, pod := range pods {
			if pod.DeletionTimestamp != nil {
				continue
			}
			exist++
			if isGood(pod) {
				good++
				continue
			}
			fmt.Fprintf(others, "\n%s %s at version %s: %s", pod.Name, pod.Spec.Containers[0].Image, pod.ResourceVersion, pod.Status.String())
		}
		if good < least || exist > most {
			return fmt.Sprintf("%d good pods (at least %d), %d in all (at most %d); those that are not good:%s", good, least, exist, most, others)
		}
		return ""
	}
}

// withinBudget is the same for pods that are good once they have been ready for long enough.
func withinBudget(least, most int, minReady time.Duration) invariant {
	return func(pods []*corev1.Pod, at time.Time) string {
		return within(least, most, func(pod *corev1.Pod) bool {
			since := readySince(pod)
			return isActive(pod) && !since.IsZero() && !since.Add(minReady).After(at)
		})(pods, at)
	}
}

// existing counts the pods, those that are terminating included.
func existing(pods []*corev1.Pod) int { return len(pods) }

func terminating(pods []*corev1.Pod) int {
	return count(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

func serving(pods []*corev1.Pod) int {
	return count(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && serves(pod) })
}

func count(pods []*corev1.Pod, is func(*corev1.Pod) bool) int {
	found := 0
	for _, pod := range pods {
		if is(pod) {
			found++
		}
	}
	return found
}

// running tells whether that many active pods run an image.
func running(image string, least int) func([]*corev1.Pod) bool {
	return func(pods []*corev1.Pod) bool {
		return count(pods, func(pod *corev1.Pod) bool { return isActive(pod) && pod.Spec.Containers[0].Image == image }) >= least
	}
}

// ofImage are the pods whose first container has the image, as their spec says.
func ofImage(pods []corev1.Pod, image string) []corev1.Pod {
	var found []corev1.Pod
	for _, pod := range pods {
		if pod.Spec.Containers[0].Image == image {
			found = append(found, pod)
		}
	}
	return found
}

// byImage counts pods by the image of their first container.
func byImage(pods []corev1.Pod) map[string]int {
	counts := map[string]int{}
	for _, pod := range pods {
		counts[pod.Spec.Containers[0].Image]++
	}
	return counts
}

// versions are the pods' resourceVersions, which tell whether anybody has written to one.
func versions(pods []corev1.Pod) map[string]string {
	byName := map[string]string{}
	for _, pod := range pods {
		byName[pod.Name] = pod.ResourceVersion
	}
	return byName
}
