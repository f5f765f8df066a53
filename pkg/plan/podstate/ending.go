package podstate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The reasons of a container's end that the kubelet gives when it has not seen that end, as after a reboot of its node.
var unseenEnds = []string{"Unknown", "ContainerStatusUnknown"}

// IsExcused reports whether the way in which a container has ended tells nothing about its pod's revision: its node was restarted, a restart
// rule of its own expects this exit, or that of another container, which restarts all.
func IsExcused(pod *corev1.Pod, status *corev1.ContainerStatus, ended *corev1.ContainerStateTerminated) bool {
	if ended == nil {
		return false
	}
	return slices.Contains(unseenEnds, ended.Reason) || restartRule(pod, status.Name, ended) != "" || isRestartedWithAll(pod, status, ended)
}

// restartRule is the action of the container's first rule that matches the way it has ended; empty if none does.
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

// restartedTogether is how far apart containers may end that one of them has restarted: the kubelet kills the others, some of which take
// their grace period.
const restartedTogether = time.Minute

// isRestartedWithAll reports whether a container was ended because another one has restarted all. Both times are of the same node.
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
