package podstate

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A container's trouble counts against the pod's revision unless the container had the same trouble before the pod was updated in place to that
// revision, or the update explains it. So each update in place first records every container's trouble, see inplace.Record.

// The kinds of trouble. Any other kind is the reason in the container's status, such as CreateContainerConfigError.
const (
	TroubleCrash = "Crash"
	TroubleImage = "Image"
)

// TroubleKind returns the kind of trouble that keeps a container from running. It is empty while the container runs or starts, and if its last
// termination is excused (see IsExcused). If the image in the pod's present spec causes the trouble, the kind includes its name: "Image nginx:2".
func TroubleKind(pod *corev1.Pod, status *corev1.ContainerStatus) string {
	if ContainerTrouble(status) == "" {
		return ""
	}
	ended := status.State.Terminated
	if ended == nil {
		ended = status.LastTerminationState.Terminated
	}
	if status.State.Waiting == nil || status.State.Waiting.Reason == "CrashLoopBackOff" {
		if IsExcused(pod, status, ended) {
			return ""
		}
		return TroubleCrash
	}
	switch reason := status.State.Waiting.Reason; reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable":
		if container := ContainerNamed(&pod.Spec, status.Name); container != nil && Mentions(status.State.Waiting.Message, container.Image) {
			return TroubleImage + " " + container.Image
		}
		return TroubleImage
	default:
		return reason
	}
}

// Mentions reports whether a text contains the name of an image, and not only a longer name with that prefix.
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

// ContainerTrouble describes what keeps a container from running. It returns empty while the container runs or starts.
func ContainerTrouble(status *corev1.ContainerStatus) string {
	waiting := status.State.Waiting
	switch {
	case waiting != nil && waiting.Reason == "CrashLoopBackOff" && status.LastTerminationState.Terminated != nil:
		// The message contains the length of the backoff, which changes. The last termination is more informative.
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

// OneLine joins a reason and a message in one line, and shortens the message to fit into a table.
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
