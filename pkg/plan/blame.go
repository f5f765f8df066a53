package plan

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// What a container does counts against the revision that its pod has. A pod that was changed in place has a past: what was
// there before the change, or belongs to it, does not count. So it is written down before each change, for every container.

// Kinds of what keeps a container from running; those that are missing are called by the reason that the node gives.
const (
	troubleCrash = "Crash"
	troubleImage = "Image"
)

// troubleKind is what keeps a container from running; empty while it runs, or is only being started. Trouble with the image that the
// container is to have now is told with its name.
func troubleKind(pod *corev1.Pod, status *corev1.ContainerStatus) string {
	if containerTrouble(status) == "" {
		return ""
	}
	if status.State.Waiting == nil {
		return troubleCrash
	}
	switch reason := status.State.Waiting.Reason; reason {
	case "CrashLoopBackOff":
		return troubleCrash
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable":
		if container := containerNamed(&pod.Spec, status.Name); container != nil && mentions(status.State.Waiting.Message, container.Image) {
			return troubleImage + " " + container.Image
		}
		return troubleImage
	default:
		return reason
	}
}

// beforeChange is how a container was before the change in place that may restart it; false if none does.
func beforeChange(pod *corev1.Pod, container string) (containerBefore, bool) {
	if last := lastRecord(pod); last.Begun {
		if before, changing := last.Containers[container]; changing {
			return before, true
		}
	}
	before, changed := inPlaceRecord(pod).Containers[container]
	return before, changed
}

// crashes is how often a container was restarted, but for what a change in place takes and what was before it.
func crashes(pod *corev1.Pod, status *corev1.ContainerStatus) int32 {
	other := inPlaceRecord(pod).Others[status.Name]
	known := other.Restarts
	if other.Trouble == troubleCrash {
		known++ // it was yet to be started again
	}
	if before, changed := beforeChange(pod, status.Name); changed {
		known = before.mostRestarts(pod)
	}
	return max(0, status.RestartCount-known)
}

// mostRestarts is how often a container that changes in place restart may have been restarted without a crash of its own. One that
// crashed again and again may have done so once more before its node saw the first change.
func (b containerBefore) mostRestarts(pod *corev1.Pod) int32 {
	most := max(b.Restarts, b.Seen) + max(1, int32(pod.Generation-b.Generation))
	if b.Trouble == troubleCrash {
		most++
	}
	return most
}

// allCrashes is the same for all containers.
func allCrashes(pod *corev1.Pod) (count int32) {
	for status := range containerStatuses(pod) {
		count += crashes(pod, status)
	}
	return count
}

// isTroubleOwn tells whether a container is in trouble, and not as it was before the pod was changed in place, nor because it is
// being started anew for that.
func isTroubleOwn(pod *corev1.Pod, status *corev1.ContainerStatus) bool {
	kind := troubleKind(pod, status)
	if kind == "" {
		return false
	}
	other := inPlaceRecord(pod).Others[status.Name]
	trouble, isSame := other.Trouble, status.RestartCount <= other.Restarts
	if before, changed := beforeChange(pod, status.Name); changed {
		if kind == troubleCrash {
			return status.RestartCount >= before.mostRestarts(pod)
		}
		trouble, isSame = before.Trouble, true
	}
	if kind == troubleImage && strings.HasPrefix(trouble, troubleImage) {
		return false // it is about another image than the present one, or nobody can tell
	}
	return kind != trouble || !isSame
}

// mentions tells whether a text has an image in it, and not only one whose name begins in the same way.
func mentions(text, image string) bool {
	_, rest, found := strings.Cut(text, image)
	for ; found; _, rest, found = strings.Cut(rest, image) {
		if rest == "" || strings.HasPrefix(rest, ": ") || !strings.ContainsRune("._-/:@", rune(rest[0])) && !isAlphanumeric(rest[0]) {
			return true
		}
	}
	return false
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
