package sim

import (
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/dice"
)

// allServe is how many pods the PodManager has, and the budget requires.
const allServe = 6

// A budget lets no pod be missing. The drain of each node ends nevertheless, because the controller creates replacements first, and at no moment fewer
// pods serve than the budget requires.
func TestDrainEnds(t *testing.T) {
	inCluster(t, func(t *testing.T, c *Cluster) {
		c.setOutage(nodeNames[0], "") // writes all Nodes
		c.apply(t, "team-a", "web", allServe, func(m *v1.PodManager) { m.Spec.Disruption = &v1.Disruption{OnDrain: v1.ReplaceDrain} })
		c.await(t, "team-a", "web", isReady)
		_, err := c.kube.PolicyV1().PodDisruptionBudgets("team-a").Create(c.ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(allServe)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelManager: "web"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range nodeNames[:2] {
			c.setOutage(name, cordoned)
			c.drain(dice.New(1), name)
			for range 600 {
				pause(c.ctx, time.Second)
				serving := int32(c.serving(t))
				if serving < allServe {
					t.Fatalf("%d pods serve during the drain of %s", serving, name)
				}
				c.allow(t, serving)
			}
			if left := c.kubelets.on(name); len(left) > 0 {
				t.Errorf("after 10 minutes, %d pods are left on %s", len(left), name)
			}
			c.setOutage(name, "")
		}
	})
}

// allow writes the status of the budget as the disruption controller does.
func (c *Cluster) allow(t *testing.T, serving int32) {
	t.Helper()
	client := c.kube.PolicyV1().PodDisruptionBudgets("team-a")
	budget, err := client.Get(c.ctx, "web", metav1.GetOptions{})
	if err == nil {
		budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, CurrentHealthy: serving, DesiredHealthy: allServe, DisruptionsAllowed: serving - allServe}
		_, err = client.UpdateStatus(c.ctx, budget, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// serving returns how many pods in team-a are ready and stay.
func (c *Cluster) serving(t *testing.T) (count int) {
	t.Helper()
	list, err := c.kube.CoreV1().Pods("team-a").List(c.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if serves(&list.Items[i]) {
			count++
		}
	}
	return count
}
