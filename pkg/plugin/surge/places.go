package surge

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/klog/v2"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// Apart is a rule by which pods of a PodManager may not be in the same place. A place is all nodes that have the same value of a label.
type Apart struct {
	// Key is the label, such as kubernetes.io/hostname. Why says which part of the template makes the rule.
	Key, Why string
}

// count says how many places there are.
func (a Apart) count(places int) string {
	switch isNode := a.Key == corev1.LabelHostname; {
	case isNode && places == 1:
		return "1 node accepts such pods"
	case isNode:
		return fmt.Sprintf("%d nodes accept such pods", places)
	case places == 1:
		return "the nodes that accept such pods all have the same value of " + a.Key
	default:
		return fmt.Sprintf("the nodes that accept such pods have %d different values of %s", places, a.Key)
	}
}

// ApartBy returns the rule that keeps pods of a PodManager apart, if the template has one: a host port, or a required anti-affinity that selects the
// PodManager's own pods.
func ApartBy(m *v1.PodManager) (rule Apart, found bool) {
	template := history.Template(&m.Spec)
	for _, container := range slices.Concat(template.Spec.Containers, template.Spec.InitContainers) {
		for _, port := range container.Ports {
			if port.HostPort > 0 {
				return Apart{corev1.LabelHostname, fmt.Sprintf("each pod takes port %d of its node", port.HostPort)}, true
			}
		}
	}
	affinity := template.Spec.Affinity
	if affinity == nil || affinity.PodAntiAffinity == nil {
		return Apart{}, false
	}
	own := labels.Set(podstate.Labels(m, template.Labels, "", 0))
	for _, term := range affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if selects(term, own, m.Namespace) {
			return Apart{term.TopologyKey, "a required anti-affinity keeps its pods apart by " + term.TopologyKey}, true
		}
	}
	return Apart{}, false
}

// selects reports whether a term of an anti-affinity selects pods of the same PodManager, also of another revision.
func selects(term corev1.PodAffinityTerm, own labels.Set, namespace string) bool {
	if slices.Contains(term.MatchLabelKeys, v1.LabelRevision) || slices.ContainsFunc(term.MismatchLabelKeys, own.Has) {
		return false
	}
	if len(term.Namespaces) > 0 && term.NamespaceSelector == nil && !slices.Contains(term.Namespaces, namespace) {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	return err == nil && selector.Matches(own)
}

// Places returns the place of each node that takes pods of the PodManager, if its pods must not run in the same place. Otherwise it returns nil.
func Places(m *v1.PodManager, nodes []corev1.Node) map[string]string {
	rule, found := ApartBy(m)
	if !found {
		return nil
	}
	spec := &history.Template(&m.Spec).Spec
	places := map[string]string{}
	for i := range nodes {
		if place, isOne := nodes[i].Labels[rule.Key]; isOne && Takes(&nodes[i], spec) {
			places[nodes[i].Name] = place
		}
	}
	return places
}

// distinct returns the different places.
func distinct(places map[string]string) map[string]bool {
	found := map[string]bool{}
	for _, place := range places {
		found[place] = true
	}
	return found
}

// Suffices reports whether nodes have enough places for all pods that a PodManager can have at a time: the desired or existing pods, the surge, and
// as many terminating pods.
func Suffices(m *v1.PodManager, nodes []corev1.Node) bool {
	most := max(m.DesiredReplicas(), int(m.Status.Replicas)) + m.MaxSurge()
	return len(distinct(Places(m, nodes))) >= 2*most
}

// Takes reports whether a node may run a pod, however full the node is.
func Takes(node *corev1.Node, pod *corev1.PodSpec) bool {
	if pod.NodeName != "" {
		return pod.NodeName == node.Name
	}
	taints := node.Spec.Taints
	if node.Spec.Unschedulable {
		taints = append(slices.Clone(taints), corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	for i := range taints {
		tolerates := func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Logger{}, &taints[i], true) }
		if taints[i].Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(pod.Tolerations, tolerates) {
			return false
		}
	}
	if !labels.SelectorFromSet(pod.NodeSelector).Matches(labels.Set(node.Labels)) {
		return false
	}
	if pod.Affinity == nil || pod.Affinity.NodeAffinity == nil || pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	return slices.ContainsFunc(pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms,
		func(term corev1.NodeSelectorTerm) bool { return matches(term, node) })
}

// matches reports whether a node fulfils all requirements of a term. An empty term matches no node.
func matches(term corev1.NodeSelectorTerm, node *corev1.Node) bool {
	if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
		return false
	}
	fulfils := func(requirements []corev1.NodeSelectorRequirement, values labels.Set) bool {
		return !slices.ContainsFunc(requirements, func(r corev1.NodeSelectorRequirement) bool {
			requirement, err := labels.NewRequirement(r.Key, operators[r.Operator], r.Values)
			return err != nil || !requirement.Matches(values)
		})
	}
	return fulfils(term.MatchExpressions, node.Labels) && fulfils(term.MatchFields, labels.Set{metav1.ObjectNameField: node.Name})
}

var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn, corev1.NodeSelectorOpExists: selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist, corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}
