package podstate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// unseenEnds are the termination reasons that the kubelet reports if it did not see how a container ended, as after a reboot of its node.
var unseenEnds = []string{"Unknown", "ContainerStatusUnknown"}

// IsExcused reports whether a container's termination says nothing about its pod's revision: its node was restarted, the container's own restart
// rule expects this exit, or another container's rule has restarted all containers.
func IsExcused(pod *corev1.Pod, status *corev1.ContainerStatus, ended *corev1.ContainerStateTerminated) bool {
	if ended == nil {
		return false
	}
	return slices.Contains(unseenEnds, ended.Reason) || restartRule(pod, status.Name, ended) != "" || isRestartedWithAll(pod, status, ended)
}

// restartRule returns the action of the container's first restart rule that matches the termination, or empty if none does.
func restartRule(pod *corev1.Pod, container string, ended *corev1.ContainerStateTerminated) corev1.ContainerRestartRuleAction {
	spec := ContainerNamed(&pod.Spec, container)
	if spec == nil {
		return ""
	}
	for _, rule := range spec.RestartPolicyRules {
		if rule.ExitCodes == nil {
			continue
		}
		isListed := slices.Contains(rule.ExitCodes.Values, ended.ExitCode)
		if isListed == (rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return rule.Action
		}
	}
	return ""
}

// restartedTogether is how far apart the terminations may be if one container restarts all: the kubelet kills the others, and some of them use
// their whole grace period.
const restartedTogether = time.Minute

// isRestartedWithAll reports whether a container was terminated because another one restarted all. Both times come from the same node.
func isRestartedWithAll(pod *corev1.Pod, status *corev1.ContainerStatus, ended *corev1.ContainerStateTerminated) bool {
	for other := range ContainerStatuses(pod) {
		for _, cause := range []*corev1.ContainerStateTerminated{other.State.Terminated, other.LastTerminationState.Terminated} {
			if other.Name == status.Name || cause == nil || restartRule(pod, other.Name, cause) != corev1.ContainerRestartRuleActionRestartAllContainers {
				continue
			}
			if after := ended.FinishedAt.Sub(cause.FinishedAt.Time); after >= 0 && after <= restartedTogether {
				return true
			}
		}
	}
	return false
}
