package leaving

import corev1 "k8s.io/api/core/v1"

// The conditions of a node that is about to be drained.
const (
	DrainInProgress    corev1.NodeConditionType = "DrainInProgress"
	MaintenancePlanned corev1.NodeConditionType = "MaintenancePlanned"
)

// Draining returns why pods have to leave a node, or empty.
func Draining(node *corev1.Node) string {
	for _, taint := range node.Spec.Taints {
		switch taint.Key {
		case "karpenter.sh/disrupted":
			return "is being replaced by Karpenter"
		case "ToBeDeletedByClusterAutoscaler":
			return "is being removed by Cluster Autoscaler"
		}
	}
	for _, condition := range node.Status.Conditions {
		isPlanned := condition.Type == DrainInProgress || condition.Type == MaintenancePlanned
		if isPlanned && condition.Status == corev1.ConditionTrue {
			return "has the condition " + string(condition.Type)
		}
	}
	if node.Spec.Unschedulable {
		return "is cordoned"
	}
	return ""
}
