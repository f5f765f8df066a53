package workloads

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// All contenders that update pods have the same budget.
func TestBudgets(t *testing.T) {
	ours := newManager("web", 20, v1.InPlaceIfPossible).Spec.UpdateStrategy.RollingUpdate
	theirs := newDeployment("web", 20).Spec.Strategy.RollingUpdate
	quarter := intstr.FromString("25%")
	for name, got := range map[string]*intstr.IntOrString{
		"PodManager's maxSurge": ours.MaxSurge, "PodManager's maxUnavailable": ours.MaxUnavailable,
		"Deployment's maxSurge": theirs.MaxSurge, "Deployment's maxUnavailable": theirs.MaxUnavailable,
	} {
		if got == nil || *got != quarter {
			t.Errorf("%s is %v", name, got)
		}
	}
}

// Pods of simulated nodes and pods of the real node never share a node.
func TestNodesOfTemplates(t *testing.T) {
	if template("web").Spec.NodeSelector["type"] != "kwok" || webTemplate("web").Spec.NodeSelector["type"] != "real" {
		t.Error("the templates do not say which node they are for")
	}
	taint := corev1.Taint{Key: "kwok.x-k8s.io/node", Value: "fake", Effect: corev1.TaintEffectNoSchedule}
	if tolerations := template("web").Spec.Tolerations; len(tolerations) != 1 || tolerations[0].Key != taint.Key || tolerations[0].Value != taint.Value {
		t.Errorf("beside a real node, the simulated ones take nothing with the tolerations %v", tolerations)
	}
}
