package why

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plugin/budget"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
)

// mostLeaving is the number of leaving pods that an answer names.
const mostLeaving = 3

// addLeaving adds the pods that leave, and why they do.
func (a *Answer) addLeaving(s snapshot.Snapshot) {
	for i, leaves := range s.Manager.Status.LeavingPods {
		if i == mostLeaving {
			a.say("further pods that are leaving: %d", max(len(s.Manager.Status.LeavingPods), int(s.Manager.Status.LeavingReplicas))-i)
			return
		}
		a.say("pod %s is leaving: %s", leaves.Name, leaves.Message)
	}
}

// leavesFor reports whether a pod leaves for this cause.
func leavesFor(s snapshot.Snapshot, cause v1.LeavingCause) bool {
	return slices.ContainsFunc(s.Manager.Status.LeavingPods, func(pod v1.LeavingPod) bool { return pod.Cause == cause })
}

// drainCause returns the cause while pods leave a drained node: the drain may evict them, or it has to wait until their replacements are available.
func drainCause(s snapshot.Snapshot, reason string) cause {
	switch reason {
	case v1.ReasonAllAvailable, v1.ReasonBaking:
		return cause{"Nothing blocks it: the replacements are available, and the drain may evict the pods that leave", none}
	case v1.ReasonTooFew, v1.ReasonMinReady:
		return cause{"A drain waits for replacements", verb("get", "-w")}
	case v1.ReasonPodsNotReady:
		if slices.ContainsFunc(s.Pods, hasNoNode) {
			return cause{"A drain waits for a replacement that no node takes", makeRoom}
		}
		return cause{"A drain waits for a replacement that is not ready", lookAtPod}
	case v1.ReasonFailedCreate, v1.ReasonForbidden, v1.ReasonBackOff:
		found := causeOf(reason)
		return cause{"A drain waits for replacements. " + found.lead, found.next}
	default:
		return causeOf(reason)
	}
}

// hasNoNode reports whether the scheduler has found no node for a pod.
func hasNoNode(pod *corev1.Pod) bool {
	scheduled := podstate.Condition(pod, corev1.PodScheduled)
	return pod.DeletionTimestamp == nil && scheduled != nil && scheduled.Status == corev1.ConditionFalse
}

// makeRoom suggests commands for a replacement without a node.
func makeRoom(s snapshot.Snapshot, a Answer) []string {
	return append(lookAtPod(s, a)[:1:1], "kubectl get nodes")
}

// AddDrain adds the PodDisruptionBudget that keeps a drain from ending. If the cause says that nothing blocks the PodManager, AddDrain corrects it.
// draining maps a node to the reason why pods leave it, as far as the user may read nodes.
func (a *Answer) AddDrain(s snapshot.Snapshot, budgets []policyv1.PodDisruptionBudget, draining map[string]string) {
	covering := budget.Covering(s.Manager, budgets)
	for _, pod := range s.Pods {
		node, leaves := pod.Spec.NodeName, s.Leaving(pod)
		isDrained := draining[node] != "" || leaves != nil && leaves.Cause == v1.LeavingForDrain
		if !isDrained || pod.DeletionTimestamp != nil || podstate.IsFinished(pod) {
			continue
		}
		because := draining[node]
		if because == "" {
			because = "is drained"
		}
		if len(covering) == 0 || len(covering) == 1 && covering[0].Status.DisruptionsAllowed > 0 {
			return
		}
		if a.Reason == v1.ReasonAllAvailable || a.Reason == v1.ReasonBaking && leavesFor(s, v1.LeavingForDrain) {
			a.Cause = sentence("A drain waits, because pods may not be evicted", follow.Message(s.Manager))
		}
		if len(covering) > 1 {
			a.say("node %s %s, and a drain waits: PodDisruptionBudgets %s and %s both cover pod %s, so it cannot be evicted",
				node, because, covering[0].Name, covering[1].Name, pod.Name)
			a.suggest(s, "kubectl get poddisruptionbudgets")
			return
		}
		status := covering[0].Status
		a.say("node %s %s, and a drain waits: PodDisruptionBudget %s needs %s and has %d, so pod %s cannot be evicted",
			node, because, covering[0].Name, budget.Healthy(int(status.DesiredHealthy)), status.CurrentHealthy, pod.Name)
		a.suggestReplacing(s, covering[0])
		return
	}
}

// suggestReplacing suggests a command after which the budget lets pods be evicted.
func (a *Answer) suggestReplacing(s snapshot.Snapshot, covering *policyv1.PodDisruptionBudget) {
	switch rules := s.Manager.Spec.Disruption; {
	case budget.BlocksForEver(covering, s.Manager) == "": // once the replacement is available, the budget allows the eviction
	case rules == nil || rules.OnDrain != v1.ReplaceDrain:
		a.suggest(s, fmt.Sprintf(`kubectl patch pm %s --type merge -p '{"spec":{"disruption":{"onDrain":"Replace"}}}'`, s.Manager.Name))
	default:
		a.suggest(s, "kubectl edit poddisruptionbudget "+covering.Name)
	}
}

func (a *Answer) suggest(s snapshot.Snapshot, command string) {
	a.Next = append(a.Next, complete(command, s.Manager))
}
