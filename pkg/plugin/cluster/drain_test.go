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
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	change(node)
	return node
}

// clusterWith returns a cluster with objects, in which the user may not read one kind.
func clusterWith(forbidden string, objects ...runtime.Object) *Cluster {
	kube := kubefake.NewClientset(objects...)
	kube.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if resource := action.GetResource(); resource.Resource == forbidden {
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
	all := []runtime.Object{nodeWith("a", plain), nodeWith("b", plain), nodeWith("c", cordoned), nodeWith("d", removed), nodeWith("e", notReady), blockingBudget()}
	tests := map[string]struct {
		forbidden string
		drained   string
		others    []string
		hasNone   bool
		budgets   int
		note, err string
	}{
		"another node":           {drained: "a", others: []string{"b"}, budgets: 1},
		"no other node":          {drained: "a b", hasNone: true, budgets: 1},
		"a node that is unknown": {drained: "x", budgets: 1, err: "there is no node x"},
		"no right to nodes":      {forbidden: "nodes", drained: "x", budgets: 1, note: "you may not read nodes"},
		"no right to budgets":    {forbidden: "poddisruptionbudgets", drained: "a", others: []string{"b"}, note: "you may not read PodDisruptionBudgets in namespace ns"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := clusterWith(test.forbidden, all...).ReadDrain(t.Context(), "ns", strings.Fields(test.drained))
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

// why reads nodes only if a budget lets no pod be evicted, and needs no right to do so.
func TestAddDrain(t *testing.T) {
	s := snapshot.New(Manager(1), []*corev1.Pod{Pod(0)}, nil, nil, Now)
	node := nodeWith("node-0", func(n *corev1.Node) { n.Spec.Unschedulable = true })
	open := blockingBudget()
	open.Status.DisruptionsAllowed = 1
	for name, test := range map[string]struct {
		cluster *Cluster
		says    string
		reads   bool
	}{
		"it blocks":             {clusterWith("", node, blockingBudget()), "node node-0 is cordoned, and a drain waits: PodDisruptionBudget floor", true},
		"it lets one go":        {clusterWith("", node, open), "", false},
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
