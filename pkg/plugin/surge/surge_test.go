package surge_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	. "github.com/mycompany/podmanager/pkg/plugin/surge"
)

func TestIsNeeded(t *testing.T) {
	tests := map[string]struct {
		manager *v1.PodManager
		want    bool
	}{
		"three by default":      {Manager(3), true},
		"four by default":       {Manager(4), false},
		"none":                  {Manager(0, Limits("1", "0")), false},
		"no pod may be missing": {Manager(10, Limits("1", "0")), true},
		"without a surge":       {Manager(3, Limits("0", "25%")), false},
		"Recreate":              {Manager(3, Strategy(v1.RecreateStrategy)), false},
		"OnDelete":              {Manager(3, Strategy(v1.OnDeleteStrategy)), false},
		"in place if possible":  {Manager(3, InPlace(v1.InPlaceIfPossible, 0)), true},
		"in place only":         {Manager(3, InPlace(v1.InPlaceOnly, 0)), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := IsNeeded(test.manager); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// template gives the PodManager a template whose pods have the label app=web.
func template(change func(*corev1.PodSpec)) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		m.Spec.Image = ""
		m.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx"}}}}
		change(&m.Spec.Template.Spec)
	}
}

// apart gives a pod a required anti-affinity.
func apart(p *corev1.PodSpec, key string, selects map[string]string, change ...func(*corev1.PodAffinityTerm)) {
	term := corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: selects}}
	for _, c := range change {
		c(&term)
	}
	p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
}

// node returns a node with labels in pairs of key and value.
func node(name string, pairs ...string) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	for i := 0; i < len(pairs); i += 2 {
		n.Labels[pairs[i]] = pairs[i+1]
	}
	return n
}

func TestAssess(t *testing.T) {
	ours := map[string]string{"app": "web"}
	byHost := template(func(p *corev1.PodSpec) { apart(p, corev1.LabelHostname, ours) })
	quota := &requeue.Failure{Reason: v1.ReasonForbidden, Message: `pods "web-" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`}
	three := []corev1.Node{node("a"), node("b"), node("c")}
	four := append(three, node("d"))
	tests := map[string]struct {
		change            func(*v1.PodManager)
		room              Room
		obstacle, unknown string
	}{
		"any node":        {change: template(func(*corev1.PodSpec) {}), room: Room{Nodes: three}},
		"a node is left":  {change: byHost, room: Room{Nodes: four}},
		"no node is left": {change: byHost, room: Room{Nodes: three}, obstacle: "keeps its pods apart by kubernetes.io/hostname, and 3 nodes accept such pods"},
		"a node that is cordoned": {change: byHost, room: Room{Nodes: append(three[:3:3], func() corev1.Node {
			n := node("d")
			n.Spec.Unschedulable = true
			return n
		}())}, obstacle: "3 nodes accept such pods"},
		"a node for others": {change: byHost, room: Room{Nodes: append(three[:3:3], func() corev1.Node {
			n := node("d")
			n.Spec.Taints = []corev1.Taint{{Key: "others", Effect: corev1.TaintEffectNoSchedule}}
			return n
		}())}, obstacle: "3 nodes accept such pods"},
		"a node better left alone": {change: byHost, room: Room{Nodes: append(three[:3:3], func() corev1.Node {
			n := node("d")
			n.Spec.Taints = []corev1.Taint{{Key: "others", Effect: corev1.TaintEffectPreferNoSchedule}}
			return n
		}())}},
		"a taint that is tolerated": {change: template(func(p *corev1.PodSpec) {
			apart(p, corev1.LabelHostname, ours)
			p.Tolerations = []corev1.Toleration{{Key: "ours", Operator: corev1.TolerationOpExists}}
		}), room: Room{Nodes: append(three[:3:3], func() corev1.Node {
			n := node("d")
			n.Spec.Taints = []corev1.Taint{{Key: "ours", Effect: corev1.TaintEffectNoSchedule}}
			return n
		}())}},
		"selected nodes": {change: template(func(p *corev1.PodSpec) {
			apart(p, corev1.LabelHostname, ours)
			p.NodeSelector = map[string]string{"disk": "fast"}
		}), room: Room{Nodes: append(four[:4:4], node("e", "disk", "fast"))}, obstacle: "1 node accepts such pods"},
		"nodes by affinity": {change: template(func(p *corev1.PodSpec) {
			apart(p, corev1.LabelHostname, ours)
			p.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "size", Operator: corev1.NodeSelectorOpGt, Values: []string{"4"}}}},
				{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}},
				{},
			}}}
		}), room: Room{Nodes: append(four[:4:4], node("e", "size", "8"), node("f", "size", "2"))}, obstacle: "2 nodes accept such pods"},
		"by zone": {change: template(func(p *corev1.PodSpec) { apart(p, corev1.LabelTopologyZone, ours) }),
			room:     Room{Nodes: []corev1.Node{node("a", corev1.LabelTopologyZone, "1"), node("b", corev1.LabelTopologyZone, "1"), node("c", corev1.LabelTopologyZone, "2"), node("d")}},
			obstacle: "the nodes that accept such pods have 2 different values of topology.kubernetes.io/zone"},
		"one zone": {change: template(func(p *corev1.PodSpec) { apart(p, corev1.LabelTopologyZone, ours) }),
			room:     Room{Nodes: []corev1.Node{node("a", corev1.LabelTopologyZone, "1"), node("b", corev1.LabelTopologyZone, "1")}},
			obstacle: "the nodes that accept such pods all have the same value of topology.kubernetes.io/zone"},
		"apart from others": {change: template(func(p *corev1.PodSpec) { apart(p, corev1.LabelHostname, map[string]string{"app": "db"}) }), room: Room{Nodes: three}},
		"apart in another namespace": {change: template(func(p *corev1.PodSpec) {
			apart(p, corev1.LabelHostname, ours, func(term *corev1.PodAffinityTerm) { term.Namespaces = []string{"other"} })
		}), room: Room{Nodes: three}},
		"apart in each revision": {change: template(func(p *corev1.PodSpec) {
			apart(p, corev1.LabelHostname, ours, func(term *corev1.PodAffinityTerm) { term.MatchLabelKeys = []string{v1.LabelRevision} })
		}), room: Room{Nodes: three}},
		"a host port": {change: template(func(p *corev1.PodSpec) {
			p.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
		}), room: Room{Nodes: three}, obstacle: "each pod takes port 8080 of its node, and 3 nodes accept such pods"},
		"nodes cannot be read":   {change: byHost, room: Room{NodesError: errors.New("forbidden")}, unknown: "whether a node is left for a surge pod is not known: forbidden"},
		"nodes need not be read": {change: template(func(*corev1.PodSpec) {}), room: Room{NodesError: errors.New("forbidden")}},
		"a quota": {change: template(func(*corev1.PodSpec) {}), room: Room{Refusal: quota},
			obstacle: "quota small has no room for a surge pod: pods \"web-\" is forbidden: exceeded quota"},
		"the pod is refused":      {change: template(func(*corev1.PodSpec) {}), room: Room{Rejection: &requeue.Failure{Message: "Invalid value"}}, unknown: "refuses the pods: Invalid value"},
		"the answer is not known": {change: template(func(*corev1.PodSpec) {}), room: Room{RefusalError: errors.New("timeout")}, unknown: "is not known: timeout"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Assess(Manager(3, test.change), test.room)
			if !strings.Contains(got.Obstacle, test.obstacle) || (got.Obstacle == "") != (test.obstacle == "") {
				t.Errorf("obstacle %q, want %q", got.Obstacle, test.obstacle)
			}
			if !strings.Contains(got.Unknown, test.unknown) || (got.Unknown == "") != (test.unknown == "") {
				t.Errorf("unknown %q, want %q", got.Unknown, test.unknown)
			}
		})
	}
}
