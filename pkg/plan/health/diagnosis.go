package health

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// The severity of a finding: a pod that cannot start matters more than a pod that is starting.
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

// Diagnose names the pod in the worst state, its container and the reason; empty only if all pods are in service.
func Diagnose(active []*corev1.Pod, now time.Time) string {
	var worst finding
	for _, pod := range slices.SortedFunc(slices.Values(active), func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) }) {
		if isInService(pod, now) {
			continue
		}
		if found := examine(pod, now); worst.text == "" || found.severity > worst.severity {
			worst = finding{found.severity, pod.Name + ": " + found.text}
		}
	}
	return worst.text
}

func examine(pod *corev1.Pod, now time.Time) finding {
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for i := range statuses {
		if text := podstate.ContainerTrouble(&statuses[i]); text != "" {
			return finding{broken, text}
		}
	}
	if pod.Status.Phase == corev1.PodUnknown {
		return finding{unscheduled, fmt.Sprintf("node %s is lost: nothing is known of the pod", pod.Spec.NodeName)}
	}
	if podstate.IsReady(pod) {
		return finding{starting, examineUpdate(pod, now)}
	}
	if scheduled := podstate.Condition(pod, corev1.PodScheduled); scheduled != nil && scheduled.Status == corev1.ConditionFalse {
		return finding{unscheduled, podstate.OneLine(scheduled.Reason, scheduled.Message)}
	}
	if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != "" && pod.Status.StartTime == nil {
		// The template may name a node that does not exist.
		return finding{unscheduled, fmt.Sprintf("node %s has not taken it up; if that lasts, look whether the node is there", pod.Spec.NodeName)}
	}
	for i := range statuses {
		switch status := &statuses[i]; {
		case status.State.Running != nil && status.Started != nil && !*status.Started:
			return finding{starting, fmt.Sprintf("container %s: its startup probe has not succeeded yet", status.Name)}
		case status.State.Running != nil && !status.Ready:
			return finding{starting, fmt.Sprintf("container %s: not ready", status.Name)}
		}
	}
	if ready := podstate.Condition(pod, corev1.PodReady); ready != nil && ready.Message != "" {
		return finding{starting, podstate.OneLine(ready.Reason, ready.Message)}
	}
	if isCutOff(pod) {
		return finding{unscheduled, fmt.Sprintf("not ready, although its containers are; look whether node %s is", pod.Spec.NodeName)}
	}
	return finding{starting, cmp.Or(strings.ToLower(string(pod.Status.Phase)), "new")}
}

// isCutOff tells whether the node controller has made the pod not ready, since nothing was heard of its kubelet for some time. The rest
// of the status is as the kubelet left it. A kubelet that makes a pod not ready gives a reason.
func isCutOff(pod *corev1.Pod) bool {
	ready := podstate.Condition(pod, corev1.PodReady)
	isReady := func(status corev1.ContainerStatus) bool { return status.Ready }
	return ready != nil && ready.Reason == "" && pod.Status.Phase == corev1.PodRunning && slices.ContainsFunc(pod.Status.ContainerStatuses, isReady)
}

// examineUpdate says what a pod waits for that is ready, but not in service because of an update in place.
func examineUpdate(pod *corev1.Pod, now time.Time) string {
	switch {
	case podstate.IsDrained(pod):
		return "out of service, to be updated in place"
	case !podstate.HasObserved(pod):
		return "the kubelet has not seen the update yet"
	case podstate.ResizeTrouble(pod) != "":
		return podstate.ResizeTrouble(pod)
	case podstate.IsResizing(pod):
		return "being resized"
	}
	record := inplace.CompletedRecord(pod)
	for _, name := range slices.Sorted(maps.Keys(record.Containers)) {
		if !inplace.IsRestarted(pod, name, record.Containers[name]) {
			return fmt.Sprintf("container %s: the kubelet has not restarted it for the update yet", name)
		}
	}
	switch {
	case podstate.HasOtherResources(pod):
		return "being resized"
	case inplace.UntilBelieved(pod, now) > 0:
		return "updated in place, its startup probe is due"
	}
	return "being updated in place"
}

// DescribeHeldUp names the first pod in service whose resize is held up; empty if there is none.
func DescribeHeldUp(active []*corev1.Pod, now time.Time) string {
	var heldUp []*corev1.Pod
	for _, pod := range active {
		if isInService(pod, now) && inplace.IsUpdating(pod) {
			heldUp = append(heldUp, pod)
		}
	}
	if len(heldUp) == 0 {
		return ""
	}
	first := slices.MinFunc(heldUp, func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) })
	return first.Name + ": " + podstate.ResizeTrouble(first)
}

// DescribeFailure says how the first failing pod fails. For a container in a crash loop the text is the same whether it runs or waits
// at the moment.
func DescribeFailure(failing []*corev1.Pod) string {
	failing = slices.SortedFunc(slices.Values(failing), func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) })
	for _, pod := range failing {
		for status := range podstate.ContainerStatuses(pod) {
			last := status.LastTerminationState.Terminated
			switch count := inplace.Crashes(pod, status); {
			case last != nil && count > 1:
				return fmt.Sprintf("%s: container %s: CrashLoopBackOff: %s", pod.Name, status.Name, podstate.DescribeExit(last))
			case podstate.ContainerTrouble(status) != "":
				return pod.Name + ": " + podstate.ContainerTrouble(status)
			case last != nil && count > 0:
				return fmt.Sprintf("%s: container %s: %s", pod.Name, status.Name, podstate.DescribeExit(last))
			}
		}
		if why := podstate.OneLine(pod.Status.Reason, pod.Status.Message); podstate.IsFinished(pod) && why != "" {
			return pod.Name + " has failed: " + why
		}
	}
	if len(failing) == 0 {
		return ""
	}
	return failing[0].Name + ": takes the place of a pod that has failed"
}
