package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/why"
)

// nodeWith returns a node that is ready.
func nodeWith(name string, change func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Labels = map[string]string{"name": name, corev1.LabelHostname: name}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	change(node)
	return node
}

// clusterWith returns a cluster with objects, in which the user may not read one kind, or may not send one request, such as "list nodes".
func clusterWith(forbidden string, objects ...runtime.Object) *Cluster {
	kube := kubefake.NewClientset(objects...)
	kube.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if resource := action.GetResource(); resource.Resource == forbidden || action.GetVerb()+" "+resource.Resource == forbidden {
			return true, nil, apierrors.NewForbidden(resource.GroupResource(), "", errors.New("no"))
		}
		return false, nil, nil
	})
	return &Cluster{Kube: kube, Server: "https://server"}
}

func blockingBudget() *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "floor"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelManager: "web"}}
	budget.Status = policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1, CurrentHealthy: 1}
	return budget
}

func TestReadDrain(t *testing.T) {
	plain := func(*corev1.Node) {}
	cordoned := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	removed := func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}} }
	notReady := func(n *corev1.Node) { n.Status.Conditions = nil }
	forOthers := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	}
	all := []runtime.Object{nodeWith("a", plain), nodeWith("b", plain), nodeWith("c", cordoned), nodeWith("d", removed), nodeWith("e", notReady),
		nodeWith("f", forOthers), blockingBudget()}
	onA := func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"name": "a"} }
	tolerant := func(p *corev1.PodSpec) { p.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }
	tests := map[string]struct {
		forbidden string
		drained   string
		template  func(*corev1.PodSpec)
		others    []string
		hasNone   bool
		budgets   int
		note, err string
	}{
		"another node":           {drained: "a", others: []string{"b"}, budgets: 1},
		"no other node":          {drained: "a b", hasNone: true, budgets: 1},
		"selected nodes":         {drained: "b", template: onA, others: []string{"a"}, budgets: 1},
		"no selected node":       {drained: "a", template: onA, hasNone: true, budgets: 1},
		"it tolerates taints":    {drained: "a b", template: tolerant, others: []string{"f"}, budgets: 1},
		"a node that is unknown": {drained: "x", budgets: 1, err: "there is no node x"},
		"no right to nodes":      {forbidden: "nodes", drained: "x", budgets: 1, note: "you may not read nodes"},
		"no right to list nodes": {forbidden: "list nodes", drained: "a", budgets: 1, note: "you may not read nodes"},
		"no right to budgets":    {forbidden: "poddisruptionbudgets", drained: "a", others: []string{"b"}, note: "you may not read PodDisruptionBudgets in namespace ns"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wanted := Manager(1)
			wanted.Spec.Template = &corev1.PodTemplateSpec{}
			if test.template != nil {
				test.template(&wanted.Spec.Template.Spec)
			}
			got, err := clusterWith(test.forbidden, all...).ReadDrain(t.Context(), wanted, strings.Fields(test.drained))
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			notes := strings.Join(got.Notes, "|")
			if !slices.Equal(got.Others, test.others) || got.HasNoOther != test.hasNone || len(got.Budgets) != test.budgets ||
				!strings.HasPrefix(notes, test.note) || (notes == "") != (test.note == "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// why reads nodes only if the budgets allow no eviction, and works without the right to read nodes.
func TestAddDrain(t *testing.T) {
	onNode1 := func(p *corev1.Pod) { p.Spec.NodeName = "node-1" }
	s := snapshot.New(Manager(2), []*corev1.Pod{Pod(0), Pod(1, onNode1)}, nil, nil, Now)
	node := nodeWith("node-0", func(n *corev1.Node) { n.Spec.Unschedulable = true })
	second := nodeWith("node-1", func(n *corev1.Node) { n.Spec.Unschedulable = true })
	open := blockingBudget()
	open.Status.DisruptionsAllowed = 1
	another := open.DeepCopy()
	another.Name = "another"
	ofOthers := blockingBudget()
	ofOthers.Spec.Selector.MatchLabels = map[string]string{"app": "other"}
	for name, test := range map[string]struct {
		cluster *Cluster
		says    string
		reads   bool
	}{
		"it blocks":             {clusterWith("", node, blockingBudget()), "node node-0 is cordoned, and a drain waits: PodDisruptionBudget floor", true},
		"it lets one go":        {clusterWith("", node, open), "", false},
		"two let one go":        {clusterWith("", node, open, another), "node node-0 is cordoned, and a drain waits: PodDisruptionBudgets another and floor both cover", true},
		"it is for other pods":  {clusterWith("", node, ofOthers), "", false},
		"the first has ended":   {clusterWith("", second, blockingBudget()), "node node-1 is cordoned, and a drain waits", true},
		"no right to budgets":   {clusterWith("poddisruptionbudgets", node, blockingBudget()), "", false},
		"no right to nodes":     {clusterWith("nodes", node, blockingBudget()), "", true},
		"a node that has ended": {clusterWith("", blockingBudget()), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var answer why.Answer
			test.cluster.addDrain(t.Context(), s, &answer)
			if evidence := strings.Join(answer.Evidence, "|"); !strings.HasPrefix(evidence, test.says) || (evidence == "") != (test.says == "") {
				t.Errorf("it says %q", evidence)
			}
			isNode := func(action clienttesting.Action) bool { return action.GetResource().Resource == "nodes" }
			if reads := slices.ContainsFunc(test.cluster.Kube.(*kubefake.Clientset).Actions(), isNode); reads != test.reads {
				t.Errorf("it reads nodes: %v", reads)
			}
		})
	}
}
