package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Spreading is how the controller spreads pods whose template has no topologySpreadConstraints. The scheduler spreads the pods of ReplicaSets and
// StatefulSets by default, but does not know our kind.
type Spreading string

// The values of Spreading. SpreadAuto is the default.
const (
	// SpreadAuto spreads over nodes, and over zones once a pod of the PodManager runs in a zone. The scheduler ignores nodes that lack a key of any
	// constraint, so a constraint on zones would disable the one on nodes in a cluster without zones.
	SpreadAuto Spreading = "auto"
	SpreadHost Spreading = "host"
	SpreadNone Spreading = "none"
)

// maxSkews are the scheduler's own default constraints.
var maxSkews = map[string]int32{corev1.LabelHostname: 3, corev1.LabelTopologyZone: 5}

// spreadOver returns the topology keys to spread new pods over.
func (o Observed) spreadOver() []string {
	isInZone := func(pod *corev1.Pod) bool { return pod.Labels[corev1.LabelTopologyZone] != "" }
	switch {
	case o.Spreading == SpreadNone:
		return nil
	case o.Spreading != SpreadHost && slices.ContainsFunc(o.Pods, isInZone):
		return []string{corev1.LabelHostname, corev1.LabelTopologyZone}
	default:
		return []string{corev1.LabelHostname}
	}
}

// defaultSpread returns constraints that spread the pods of a PodManager where possible. They count pods of the same revision only, as the scheduler does
// for the ReplicaSet of a Deployment: during a rollout, the old pods would otherwise keep new pods away from their nodes, and these nodes would be
// empty once the old pods are gone. They do not use matchLabelKeys, which the API server merges into the selector: it would refuse the stored pod
// when a backup tool creates it again.
func defaultSpread(manager *v1.PodManager, revision string, over []string) (constraints []corev1.TopologySpreadConstraint) {
	for _, key := range over {
		constraints = append(constraints, corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: maxSkews[key], WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelManager: manager.Name, v1.LabelRevision: revision}},
		})
	}
	return constraints
}
