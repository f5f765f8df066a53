package simulate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plugin/plugintest"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/surge"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// onePerNode gives pods an image, and a required anti-affinity that keeps them apart by their node.
func onePerNode(image string) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		m.Spec.Image = ""
		m.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", Image: image}},
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelManager: m.Name}},
			}}}},
		}}
	}
}

// spread puts each pod on a node of its own, and returns the cluster's nodes: these, and some more.
func spread(live snapshot.Snapshot, more int) surge.Room {
	room := surge.Room{}
	for i := range len(live.Pods) + more {
		name := fmt.Sprintf("node-%d", i)
		room.Nodes = append(room.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}})
		if i < len(live.Pods) {
			live.Pods[i].Spec.NodeName = name
		}
	}
	return room
}

// With one pod on each node, a rollout waits for a surge pod unless there is a node more, or one pod may be unavailable.
func TestOnePodPerNode(t *testing.T) {
	o, live := options(t), atRest(3, onePerNode("v1"))
	o.Room = spread(live, 0)
	report := play(t, live, with(live, onePerNode("v2")), o, simulate.SurgeBlocked)
	plugintest.Golden(t, "surge-blocked", report.Lines(text.Style{}, false))
	if report.Totals.LowestAvailable != 3 || report.Totals.Deleted != 0 {
		t.Errorf("got %+v", report.Totals)
	}
	play(t, live, with(live, onePerNode("v2"), Limits("0", "1")), o, simulate.Completed)
	o.Room = spread(live, 1)
	if report := play(t, live, with(live, onePerNode("v2")), o, simulate.Completed); report.Totals.MostPods != 4 {
		t.Errorf("got %+v", report.Totals)
	}
	// Two surge pods are allowed, and one finds a node.
	live = atRest(8, onePerNode("v1"), Limits("2", "0"))
	o.Room = spread(live, 1)
	if report := play(t, live, with(live, onePerNode("v2")), o, simulate.Completed); report.Totals.Created != 8 || report.Totals.LowestAvailable != 8 {
		t.Errorf("got %+v", report.Totals)
	}
	o.Room = surge.Room{NodesError: errors.New("forbidden")}
	report = play(t, live, with(live, onePerNode("v2")), o, simulate.Completed)
	if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "nodes cannot be read: a surge pod needs one more than 8 (forbidden)") {
		t.Errorf("notes: %v", report.Notes)
	}
}

// The pods that the status names are on nodes that are not known. They take places, too.
func TestOnePodPerNodeWithoutPods(t *testing.T) {
	full := atRest(3, onePerNode("v1"), Limits("1", "0"))
	o := options(t)
	o.Room = spread(full, 0)
	s := snapshot.New(full.Manager, nil, nil, []string{"pods", "controllerrevisions"}, Now)
	play(t, s, with(full, onePerNode("v2")), o, simulate.SurgeBlocked)
	o.Room = spread(full, 1)
	play(t, s, with(full, onePerNode("v2")), o, simulate.Completed)
}

// A quota that has no room for one more pod blocks a rollout that needs a surge pod, and a scale-up, but no rollout without a surge.
func TestQuota(t *testing.T) {
	live := atRest(3)
	o := options(t)
	o.Room.Refusal = &requeue.Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonForbidden,
		Message: `pods "web-3" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`}
	plugintest.Golden(t, "surge-quota", play(t, live, with(live, Image("v2")), o, simulate.SurgeBlocked).Lines(text.Style{}, false))
	play(t, live, with(live, replicas(1)), o, simulate.Completed)
	play(t, live, with(live, replicas(2), Image("v2")), o, simulate.Completed) // the pod that goes makes room
	play(t, live, with(live, Image("v2"), Limits("0", "1")), o, simulate.Completed)
	if report := play(t, live, with(live, replicas(3)), o, simulate.Completed); report.Totals.Created != 0 {
		t.Errorf("got %+v", report.Totals)
	}
}
