package cluster

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// hostPort gives each pod a port of its node.
func hostPort(m *v1.PodManager) {
	m.Spec.Image = ""
	m.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "app", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}},
	}}}
}

// Nodes are read page by page, until there are places enough for all pods that a simulation can have.
func TestRoomReadsPages(t *testing.T) {
	plain := func(*corev1.Node) {}
	cordoned := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	tests := map[string]struct {
		pages, perPage int
		change         func(*corev1.Node)
		fails          bool
		requests, want int
	}{
		"one page":                {1, 2, plain, false, 1, 2},
		"enough on the first":     {5, 10, plain, false, 1, 10},
		"enough on the second":    {5, 5, plain, false, 2, 10},
		"none takes them":         {4, 10, cordoned, false, 4, 40},
		"the second page expires": {5, 5, plain, true, 2, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			requests, kube := 0, kubefake.NewClientset()
			kube.PrependReactor("list", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
				options := action.(clienttesting.ListActionImpl).ListOptions
				if options.Limit == 0 || options.Continue != map[bool]string{true: strconv.Itoa(requests)}[requests > 0] {
					t.Errorf("request %d: %+v", requests, options)
				}
				if requests++; test.fails && requests == 2 {
					return true, nil, apierrors.NewResourceExpired("too old")
				}
				list := &corev1.NodeList{}
				for i := range test.perPage {
					list.Items = append(list.Items, *nodeWith(fmt.Sprintf("node-%d-%d", requests, i), test.change))
				}
				if requests < test.pages {
					list.Continue = strconv.Itoa(requests)
				}
				return true, list, nil
			})
			room := (&Cluster{Kube: kube}).Room(t.Context(), Manager(3, hostPort, Limits("1", "0")))
			if requests != test.requests || len(room.Nodes) != test.want || (room.NodesError != nil) != test.fails {
				t.Errorf("%d requests, %d nodes, error %v", requests, len(room.Nodes), room.NodesError)
			}
		})
	}
}
