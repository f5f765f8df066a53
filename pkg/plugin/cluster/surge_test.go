package cluster

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// Room distinguishes whether the API server refuses the pod or does not answer.
func TestRoomOfARefusal(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	tests := map[string]struct {
		err                        error
		quota, rejected, isUnknown bool
	}{
		"none":      {},
		"a quota":   {err: apierrors.NewForbidden(pods, "web-3", errors.New("exceeded quota: small, requested: pods=1")), quota: true},
		"invalid":   {err: apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web-3", nil), rejected: true},
		"admission": {err: apierrors.NewForbidden(pods, "web-3", errors.New("error looking up service account ns/robot")), rejected: true},
		"no right": {err: apierrors.NewForbidden(pods, "", errors.New(`User "jane" cannot create resource "pods" in API group "" in the namespace "ns"`)),
			isUnknown: true},
		"no answer": {err: errors.New("timeout"), isUnknown: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kube := kubefake.NewClientset()
			kube.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &corev1.Pod{}, test.err })
			room := (&Cluster{Kube: kube}).Room(t.Context(), Manager(3))
			if room.Refusal != nil != test.quota || room.Rejection != nil != test.rejected || room.RefusalError != nil != test.isUnknown {
				t.Errorf("got %+v", room)
			}
		})
	}
}

// Nodes are read page by page, until they have enough places for all pods that a simulation can have.
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

// If the API server refuses a pod for a reason other than a quota or the rights of the user, it would refuse the controller's pods, too.
func TestRoomToSimulate(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	quota := apierrors.NewForbidden(pods, "web-3", errors.New("exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3"))
	account := apierrors.NewForbidden(pods, "web-3", errors.New(`serviceaccount "robot" not found`))
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web-3", nil)
	noRight := apierrors.NewForbidden(pods, "", errors.New(`User "jane" cannot create resource "pods" in API group "" in the namespace "ns"`))
	surge, noSurge := Manager(3, Limits("1", "0")), Manager(3, Limits("0", "1"))
	tests := map[string]struct {
		manager                       *v1.PodManager
		isNew                         bool
		err                           error
		refused, rejected, isNotKnown bool
	}{
		"taken":                          {manager: surge},
		"quota":                          {manager: surge, err: quota, refused: true},
		"service account":                {manager: surge, err: account, rejected: true},
		"service account, without surge": {manager: noSurge, err: account, rejected: true},
		"service account, a new one":     {manager: surge, isNew: true, err: account, rejected: true},
		"invalid":                        {manager: noSurge, err: invalid, rejected: true},
		"no right":                       {manager: surge, err: noRight, isNotKnown: true},
		"no right, a new one":            {manager: surge, isNew: true, err: noRight},
		"no answer":                      {manager: surge, err: apierrors.NewInternalError(errors.New("no answer")), isNotKnown: true},
		"to zero":                        {manager: Manager(0), err: account},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{Kube: kubefake.NewClientset()}
			c.Kube.(*kubefake.Clientset).PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &corev1.Pod{}, test.err
			})
			room := c.RoomToSimulate(t.Context(), test.manager, test.isNew)
			if (room.Refusal != nil) != test.refused || (room.Rejection != nil) != test.rejected || (room.RefusalError != nil) != test.isNotKnown {
				t.Errorf("got %+v", room)
			}
		})
	}
}
