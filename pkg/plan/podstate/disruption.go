package podstate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// disruptions are the reasons of pods that finished because of the state that their node was in. Those that say that no such
// node can run the pod, like SysctlForbidden or PodOSNotSupported, are missing: that is the template's failure.
var disruptions = []string{
	"Evicted", "Preempting", "NodeLost",
	"Terminated", "NodeShutdown", "Shutdown", // a node that is shut down: its pods, those that come too late, and both before 1.22
	// What the scheduler did not know when it chose the node.
	"NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "TopologyAffinityError",
	"VolumeAttachmentLimitExceeded", "UnexpectedAdmissionError", "InvalidNodeInfo", "UnknownReason", "UnexpectedPredicateFailureType",
}

// outOf begins the reasons of pods that their node had no room for: OutOfcpu, OutOfpods, OutOfexample.com/gpu.
const outOf = "OutOf"

// Disruption is what was done to the pod by its node, or by somebody who wanted the node for something else; empty if
// nothing was. Such a pod tells nothing about its revision.
func Disruption(pod *corev1.Pod) string {
	target := Condition(pod, corev1.DisruptionTarget)
	isTarget := target != nil && target.Status == corev1.ConditionTrue
	reason := pod.Status.Reason
	if pod.Status.Phase == corev1.PodFailed && (isTarget && reason != "" || slices.Contains(disruptions, reason) || strings.HasPrefix(reason, outOf)) {
		return OneLine(reason, pod.Status.Message)
	}
	if isTarget {
		return OneLine(target.Reason, target.Message)
	}
	return ""
}

// DisruptionOf tells what was done to a pod, by name; empty if nothing was.
func DisruptionOf(pod *corev1.Pod) string {
	if pod == nil || Disruption(pod) == "" {
		return ""
	}
	return fmt.Sprintf("%s was stopped by its node: %s", pod.Name, Disruption(pod))
}
