package health

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// The severity of a finding: a pod that cannot start matters more than a pod that is starting.
const (
	starting = iota
	unscheduled
	broken
)

// Finding describes in one line what is wrong with a pod. It is empty if nothing is wrong.
type Finding struct {
	Pod  *corev1.Pod
	Text string
}

// String returns the finding with the pod's name.
func (f Finding) String() string {
	if f.Pod == nil {
		return ""
	}
	return f.Pod.Name + ": " + f.Text
}

// outOfServices describes a pod whose readiness gate we have closed.
const outOfServices = "out of its Services for an update in place"

// symptom is the result of examine.
type symptom struct {
	severity int
	text     string
}

// Diagnose describes the pod in the worst state, its container and the reason. The result is empty only if all pods are in service.
func Diagnose(active []*corev1.Pod, now time.Time) (worst Finding) {
	severity := -1
	for _, pod := range byIndex(active) {
		if isInService(pod, now) {
			continue
		}
		if seen := examine(pod, now); seen.severity > severity {
			worst, severity = Finding{pod, seen.text}, seen.severity
		}
	}
	return worst
}

func byIndex(pods []*corev1.Pod) []*corev1.Pod {
	return slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) })
}

func examine(pod *corev1.Pod, now time.Time) symptom {
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for i := range statuses {
		if text := podstate.ContainerTrouble(&statuses[i]); text != "" {
			return symptom{broken, text}
		}
	}
	if pod.Status.Phase == corev1.PodUnknown {
		return symptom{unscheduled, fmt.Sprintf("node %s is lost: the state of the pod is unknown", pod.Spec.NodeName)}
	}
	if podstate.IsReady(pod) {
		return symptom{starting, examineUpdate(pod, now)}
	}
	if scheduled := podstate.Condition(pod, corev1.PodScheduled); scheduled != nil && scheduled.Status == corev1.ConditionFalse {
		return symptom{unscheduled, podstate.OneLine(scheduled.Reason, scheduled.Message)}
	}
	if isUnaccepted(pod) && untilAccepted(pod, now) == 0 {
		// The template may name a node that does not exist.
		return symptom{unscheduled, fmt.Sprintf("node %s has not accepted the pod; if that lasts, check that the node exists and is ready", pod.Spec.NodeName)}
	}
	if podstate.IsDrained(pod) {
		return symptom{starting, outOfServices}
	}
	if text := cmp.Or(examineProbes(statuses), examineGates(pod)); text != "" {
		return symptom{starting, text}
	}
	if ready := podstate.Condition(pod, corev1.PodReady); ready != nil && ready.Message != "" {
		return symptom{starting, podstate.OneLine(ready.Reason, ready.Message)}
	}
	if IsCutOff(pod) && now.Sub(pod.CreationTimestamp.Time) >= nodeDelay {
		return symptom{unscheduled, fmt.Sprintf("not ready, although its containers are ready; check whether node %s is ready", pod.Spec.NodeName)}
	}
	return symptom{starting, cmp.Or(strings.ToLower(string(pod.Status.Phase)), "new")}
}

// examineProbes describes the first running container whose probes have not succeeded. It returns empty if there is none.
func examineProbes(statuses []corev1.ContainerStatus) string {
	for i := range statuses {
		switch status := &statuses[i]; {
		case status.State.Running != nil && status.Started != nil && !*status.Started:
			return fmt.Sprintf("container %s: its startup probe has not succeeded yet", status.Name)
		case status.State.Running != nil && !status.Ready:
			return fmt.Sprintf("container %s: not ready", status.Name)
		}
	}
	return ""
}

// gatesNotReady is the reason with which a kubelet reports that only readiness gates keep a pod from being ready.
const gatesNotReady = "ReadinessGatesNotReady"

// examineGates describes what a pod waits for if its containers are ready, and its readiness gates are not. Our own gate is not reported: the
// controller is about to open it, or has opened it and the kubelet has yet to mark the pod as ready. It returns empty if gates are not the reason.
func examineGates(pod *corev1.Pod) string {
	if ready := podstate.Condition(pod, corev1.PodReady); ready == nil || ready.Reason != gatesNotReady {
		return ""
	}
	for _, gate := range pod.Spec.ReadinessGates {
		condition := podstate.Condition(pod, gate.ConditionType)
		if gate.ConditionType == v1.InPlaceReady || condition != nil && condition.Status == corev1.ConditionTrue {
			continue
		}
		text := fmt.Sprintf("the condition of its readiness gate %s is not True", gate.ConditionType)
		if condition != nil {
			text = podstate.OneLine(text, podstate.OneLine(condition.Reason, condition.Message))
		}
		return text
	}
	return "its containers are ready, and it is about to join its Services"
}

// nodeDelay is how long a node may be silent after a pod was created or scheduled. After that, a message names the node. It is longer than a busy
// kubelet takes to accept a pod, so that messages about an ordinary rollout name no nodes.
const nodeDelay = 30 * time.Second

// isUnaccepted reports whether a pod is bound to a node whose kubelet has not accepted it yet.
func isUnaccepted(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != "" && pod.Status.StartTime == nil
}

// untilAccepted returns how long the node of an unaccepted pod may still take.
func untilAccepted(pod *corev1.Pod, now time.Time) time.Duration {
	since := pod.CreationTimestamp.Time
	if scheduled := podstate.Condition(pod, corev1.PodScheduled); scheduled != nil && scheduled.LastTransitionTime.After(since) {
		since = scheduled.LastTransitionTime.Time // the pod may have waited for a node
	}
	return max(0, since.Add(nodeDelay).Sub(now))
}

// UntilNodeIsNamed returns the time until Diagnose, without an event, names a node that has not accepted a pod or is cut off; zero means never.
func UntilNodeIsNamed(active []*corev1.Pod, now time.Time) (first time.Duration) {
	for _, pod := range active {
		if isUnaccepted(pod) {
			first = requeue.Sooner(first, untilAccepted(pod, now))
		} else if IsCutOff(pod) {
			first = requeue.Sooner(first, max(0, pod.CreationTimestamp.Add(nodeDelay).Sub(now)))
		}
	}
	return first
}

// IsCutOff reports whether the node controller has marked the pod as not ready because its kubelet has not reported for some time. The rest of the
// status is as the kubelet left it. If a kubelet marks a pod as not ready, it gives a reason.
func IsCutOff(pod *corev1.Pod) bool {
	ready := podstate.Condition(pod, corev1.PodReady)
	isReady := func(status corev1.ContainerStatus) bool { return status.Ready }
	return ready != nil && ready.Status != corev1.ConditionTrue && ready.Reason == "" && pod.Status.Phase == corev1.PodRunning &&
		slices.ContainsFunc(pod.Status.ContainerStatuses, isReady)
}

// examineUpdate describes what a pod waits for if it is ready, but not in service because of an update in place.
func examineUpdate(pod *corev1.Pod, now time.Time) string {
	switch {
	case podstate.IsDrained(pod):
		return outOfServices
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
	case inplace.StatusTrustDelay(pod, now) > 0:
		return "updated in place, waiting for its startup probe"
	}
	return "being updated in place"
}

// DescribeStuckResize describes the first pod in service whose resize is stuck. The result is empty if there is none.
func DescribeStuckResize(active []*corev1.Pod, now time.Time) Finding {
	for _, pod := range byIndex(active) {
		if isInService(pod, now) && inplace.IsUpdating(pod) {
			return Finding{pod, podstate.ResizeTrouble(pod)}
		}
	}
	return Finding{}
}

// DescribeOverdue describes the first terminating pod that should be gone. The result is empty if there is none.
func DescribeOverdue(terminating []*corev1.Pod, now time.Time) Finding {
	for _, pod := range byIndex(terminating) {
		if podstate.UntilOverdue(pod, now) > 0 {
			continue
		}
		text := "terminating, and should have been gone by " + pod.DeletionTimestamp.UTC().Format(time.RFC3339)
		switch {
		case len(pod.Finalizers) > 0:
			text += ": its finalizers keep it (" + strings.Join(pod.Finalizers, ", ") + ")"
		case pod.Spec.NodeName != "":
			text += ": check whether node " + pod.Spec.NodeName + " is ready"
		}
		return Finding{pod, text}
	}
	return Finding{}
}

// DescribeFailure describes how the first failing pod fails. For a container in a crash loop, the text is the same whether it currently runs or
// waits.
func DescribeFailure(failing []*corev1.Pod) Finding {
	failing = byIndex(failing)
	for _, pod := range failing {
		for status := range podstate.ContainerStatuses(pod) {
			last := status.LastTerminationState.Terminated
			switch count := inplace.Crashes(pod, status); {
			case last != nil && count > 1:
				return Finding{pod, fmt.Sprintf("container %s: CrashLoopBackOff: %s", status.Name, podstate.DescribeExit(last))}
			case podstate.ContainerTrouble(status) != "":
				return Finding{pod, podstate.ContainerTrouble(status)}
			case last != nil && count > 0:
				return Finding{pod, fmt.Sprintf("container %s: %s", status.Name, podstate.DescribeExit(last))}
			}
		}
		if why := podstate.OneLine(pod.Status.Reason, pod.Status.Message); podstate.IsFinished(pod) && why != "" {
			return Finding{pod, "has failed: " + why}
		}
	}
	switch {
	case len(failing) == 0:
		return Finding{}
	case podstate.IsFinished(failing[0]):
		return Finding{failing[0], "is no longer running"}
	case FailuresBefore(failing[0]) > 0:
		return Finding{failing[0], "replaces a failed pod, and has not been ready for long enough yet"}
	default:
		return Finding{failing[0], "has failed, and has not been ready for long enough since"}
	}
}
