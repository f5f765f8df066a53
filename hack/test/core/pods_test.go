//go:build e2e

package core

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// Properties of one pod or of all pods. harness.PodWatch checks them over time.

// serves reports whether this version of a pod serves: it is ready, no closed readiness gate keeps it out of its Services, and its node has carried
// out its spec. The gate and the spec change before the node changes the Ready condition, which may stay true while the node restarts a container
// for another image.
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
	return is[corev1.PodReady] && pod.Status.Phase == corev1.PodRunning && pod.Status.ObservedGeneration >= pod.Generation &&
		!is[corev1.PodResizeInProgress] && runsItsImages(pod)
}

// runsItsImages reports whether the running containers have the images of the spec.
func runsItsImages(pod *corev1.Pod) bool {
	for _, status := range pod.Status.ContainerStatuses {
		for _, container := range pod.Spec.Containers {
			if container.Name == status.Name && !isImage(status.Image, container.Image) {
				return false
			}
		}
	}
	return true
}

// isImage reports whether a name refers to an image. Nodes use the container runtime's names, such as docker.io/library/app:latest for app.
func isImage(name, image string) bool {
	return name == image || strings.HasSuffix(strings.TrimSuffix(name, ":latest"), "/"+strings.TrimSuffix(image, ":latest"))
}

// servesImage is serves for pods of one image. Pods of a crashing image are ready from time to time, too.
func servesImage(image string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { return serves(pod) && pod.Spec.Containers[0].Image == image }
}

// within returns an invariant: at least least pods are good, and at most most pods exist. Terminating pods do not count.
func within(least, most int, isGood func(*corev1.Pod) bool) harness.Invariant {
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
			return fmt.Sprintf("%d good pods (at least %d), %d in all (at most %d); the others:%s", good, least, exist, most, others)
		}
		return ""
	}
}

// withinBudget is within for pods that are good once they have been ready for minReady.
func withinBudget(least, most int, minReady time.Duration) harness.Invariant {
	return func(pods []*corev1.Pod, at time.Time) string {
		return within(least, most, func(pod *corev1.Pod) bool {
			since := readySince(pod)
			return harness.IsActive(pod) && !since.IsZero() && !since.Add(minReady).After(at)
		})(pods, at)
	}
}

// existing counts the pods, including terminating ones.
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

// running returns a function that reports whether an image is in the spec of at least least active pods.
func running(image string, least int) func([]*corev1.Pod) bool {
	return func(pods []*corev1.Pod) bool {
		return count(pods, func(pod *corev1.Pod) bool { return harness.IsActive(pod) && pod.Spec.Containers[0].Image == image }) >= least
	}
}

// ofImage returns the pods whose first container has this image in its spec.
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

// versions returns the pods' resourceVersions, which show whether any client has written to a pod.
func versions(pods []corev1.Pod) map[string]string {
	byName := map[string]string{}
	for _, pod := range pods {
		byName[pod.Name] = pod.ResourceVersion
	}
	return byName
}
