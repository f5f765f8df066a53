package podstate

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// What a container does counts against the revision that its pod has. A pod that was updated in place has a past: what was
// there before the change, or belongs to it, does not count. So it is written down before each change, for every container.

// Kinds of what keeps a container from running; those that are missing are called by the reason that the node gives.
const (
	TroubleCrash = "Crash"
	TroubleImage = "Image"
)

// TroubleKind is what keeps a container from running; empty while it runs, or is only being started. Trouble with the image that the
// container is to have now is told with its name.
func TroubleKind(pod *corev1.Pod, status *corev1.ContainerStatus) string {
	if ContainerTrouble(status) == "" {
		return ""
	}
	if status.State.Waiting == nil {
		return TroubleCrash
	}
	switch reason := status.State.Waiting.Reason; reason {
	case "CrashLoopBackOff":
		return TroubleCrash
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable":
		if container := ContainerNamed(&pod.Spec, status.Name); container != nil && Mentions(status.State.Waiting.Message, container.Image) {
			return TroubleImage + " " + container.Image
		}
		return TroubleImage
	default:
		return reason
	}
}

// Mentions tells whether a text has an image in it, and not only one whose name begins in the same way.
func Mentions(text, image string) bool {
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

// ContainerTrouble is what keeps a container from running; empty while it runs, or is only being started.
func ContainerTrouble(status *corev1.ContainerStatus) string {
	waiting := status.State.Waiting
	switch {
	case waiting != nil && waiting.Reason == "CrashLoopBackOff" && status.LastTerminationState.Terminated != nil:
		// The message is about the back-off, and changes; how the container ended says more.
		return fmt.Sprintf("container %s: CrashLoopBackOff: %s", status.Name, DescribeExit(status.LastTerminationState.Terminated))
	case waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" && waiting.Reason != "":
		return fmt.Sprintf("container %s: %s", status.Name, OneLine(waiting.Reason, waiting.Message))
	case status.State.Terminated != nil && status.State.Terminated.ExitCode != 0:
		return fmt.Sprintf("container %s: %s", status.Name, DescribeExit(status.State.Terminated))
	default:
		return ""
	}
}

func DescribeExit(terminated *corev1.ContainerStateTerminated) string {
	return fmt.Sprintf("%s, exit code %d", OneLine(cmp.Or(terminated.Reason, "ended"), terminated.Message), terminated.ExitCode)
}

// OneLine joins a reason and a message, and keeps them short enough for a table.
func OneLine(reason, message string) string {
	const longest = 200
	text := strings.Join(strings.Fields(message), " ")
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "..."
	}
	switch {
	case text == "":
		return reason
	case reason == "":
		return text
	default:
		return reason + ": " + text
	}
}
