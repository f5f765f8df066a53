package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// How bad a finding is. A pod that cannot start matters more than one that is starting.
const (
	starting = iota
	unscheduled
	broken
)

// finding is what is wrong with one pod, in one line.
type finding struct {
	severity int
	text     string
}

// diagnose names the pod that is worst off, its container and the reason; empty only if all are ready.
func diagnose(active []*corev1.Pod) string {
	var worst finding
	for _, pod := range slices.SortedFunc(slices.Values(active), func(a, b *corev1.Pod) int { return ByIndex(a.Name, b.Name) }) {
		if isInService(pod) {
			continue
		}
		if found := examine(pod); worst.text == "" || found.severity > worst.severity {
			worst = finding{found.severity, pod.Name + ": " + found.text}
		}
	}
	return worst.text
}

func examine(pod *corev1.Pod) finding {
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for i := range statuses {
		if text := containerTrouble(&statuses[i]); text != "" {
			return finding{broken, text}
		}
	}
	if pod.Status.Phase == corev1.PodUnknown {
		return finding{unscheduled, fmt.Sprintf("node %s is lost: nothing is known of the pod", pod.Spec.NodeName)}
	}
	if isReady(pod) {
		return finding{starting, examineChange(pod)}
	}
	if scheduled := condition(pod, corev1.PodScheduled); scheduled != nil && scheduled.Status == corev1.ConditionFalse {
		return finding{unscheduled, oneLine(scheduled.Reason, scheduled.Message)}
	}
	if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != "" && pod.Status.StartTime == nil {
		// Whoever names the node in the template may have named one that does not exist.
		return finding{unscheduled, fmt.Sprintf("node %s has not taken it up; if that lasts, look whether the node is there", pod.Spec.NodeName)}
	}
	for i := range statuses {
		if status := &statuses[i]; status.State.Running != nil && !status.Ready {
			return finding{starting, fmt.Sprintf("container %s: not ready", status.Name)}
		}
	}
	if ready := condition(pod, corev1.PodReady); ready != nil && ready.Message != "" {
		return finding{starting, oneLine(ready.Reason, ready.Message)}
	}
	return finding{starting, cmp.Or(strings.ToLower(string(pod.Status.Phase)), "new")}
}

// examineChange is what a pod that is ready, and does not count as such, is waiting for.
func examineChange(pod *corev1.Pod) string {
	switch {
	case isDrained(pod):
		return "out of service, to be changed in place"
	case !hasObserved(pod):
		return "its node has not seen the change yet"
	case resizeTrouble(pod) != "":
		return resizeTrouble(pod)
	case isResizing(pod):
		return "being resized"
	}
	record := inPlaceRecord(pod)
	for _, name := range slices.Sorted(maps.Keys(record.Containers)) {
		if !isChanged(pod, name, record.Containers[name]) {
			return fmt.Sprintf("container %s: its node has not restarted it for the change yet", name)
		}
	}
	return "being changed in place"
}

// unfinished names the first pod that serves, but whose node has not given it all that its revision says.
func unfinished(active []*corev1.Pod) string {
	var held []*corev1.Pod
	for _, pod := range active {
		if isInService(pod) && isChanging(pod) {
			held = append(held, pod)
		}
	}
	if len(held) == 0 {
		return ""
	}
	first := slices.MinFunc(held, func(a, b *corev1.Pod) int { return ByIndex(a.Name, b.Name) })
	return first.Name + ": " + resizeTrouble(first)
}

// containerTrouble is what keeps a container from running; empty while it runs, or is only being started.
func containerTrouble(status *corev1.ContainerStatus) string {
	waiting := status.State.Waiting
	switch {
	case waiting != nil && waiting.Reason == "CrashLoopBackOff" && status.LastTerminationState.Terminated != nil:
		// The message is about the back-off, and changes; how the container ended says more.
		return fmt.Sprintf("container %s: CrashLoopBackOff: %s", status.Name, ending(status.LastTerminationState.Terminated))
	case waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" && waiting.Reason != "":
		return fmt.Sprintf("container %s: %s", status.Name, oneLine(waiting.Reason, waiting.Message))
	case status.State.Terminated != nil && status.State.Terminated.ExitCode != 0:
		return fmt.Sprintf("container %s: %s", status.Name, ending(status.State.Terminated))
	default:
		return ""
	}
}

func ending(terminated *corev1.ContainerStateTerminated) string {
	return fmt.Sprintf("%s, exit code %d", oneLine(cmp.Or(terminated.Reason, "ended"), terminated.Message), terminated.ExitCode)
}

// oneLine joins a reason and a message, and keeps them short enough for a table.
func oneLine(reason, message string) string {
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

// String tells what failed and when the next try is. The time is absolute, so that the text stays the same until then.
func (r Retry) String() string {
	what := r.Pod.Name + " has failed"
	for i := range r.Pod.Status.ContainerStatuses {
		if text := containerTrouble(&r.Pod.Status.ContainerStatuses[i]); text != "" {
			what = r.Pod.Name + " has failed: " + text
			break
		}
	}
	if why := oneLine(r.Pod.Status.Reason, r.Pod.Status.Message); why != "" {
		what = r.Pod.Name + " has failed: " + why
	}
	return fmt.Sprintf("%s (%d in a row), next try at %s", what, r.Failures, r.Due.UTC().Format(time.RFC3339))
}
