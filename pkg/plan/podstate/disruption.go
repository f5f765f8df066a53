package podstate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// disruptions are the status reasons of pods that failed because of the state of their node. SysctlForbidden, PodOSNotSupported and similar reasons
// are not among them: no node of that kind can run such a pod, so the template is at fault. Nor is Evicted: a kubelet that runs low on a resource
// marks the pods that it evicts with DisruptionTarget, and evicted pods without that condition have exceeded their own limit.
var disruptions = []string{
	"Preempting", "NodeLost",
	"Terminated", "NodeShutdown", "Shutdown", // node shutdown: running pods, pods rejected during it, and both before Kubernetes 1.22
	// The kubelet rejected the pod for a reason that the scheduler did not know about.
	"NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "TopologyAffinityError",
	"VolumeAttachmentLimitExceeded", "UnexpectedAdmissionError", "InvalidNodeInfo", "UnknownReason", "UnexpectedPredicateFailureType",
}

// outOf is the prefix of the kubelet's reasons for pods that the node has no capacity for: OutOfcpu, OutOfpods, OutOfexample.com/gpu.
const outOf = "OutOf"

// Disruption returns why the pod was disrupted by its node, by preemption or by an eviction, or empty if it was not. A disrupted pod says nothing
// about its revision.
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
	if pod.Status.Phase == corev1.PodSucceeded {
		// Containers are always restarted, so only the kubelet ends a pod. If all containers exit with 0 when they are told to stop, the kubelet
		// loses track of the eviction and reports this phase without a reason (kubernetes/kubernetes#120182).
		return OneLine(string(pod.Status.Phase), "see the events of the pod")
	}
	return ""
}

// DescribeDisruption describes the pod and its disruption in one sentence. It returns empty if the pod was not disrupted.
func DescribeDisruption(pod *corev1.Pod) string {
	if pod == nil || Disruption(pod) == "" {
		return ""
	}
	return fmt.Sprintf("%s was disrupted: %s", pod.Name, Disruption(pod))
}
