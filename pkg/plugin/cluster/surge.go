package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plugin/rights"
	"github.com/mycompany/podmanager/pkg/plugin/surge"
)

// Room finds out whether there is room for a surge pod of a PodManager. It sends no request if a rollout needs no such pod.
func (c *Cluster) Room(ctx context.Context, manager *v1.PodManager) surge.Room {
	room := surge.Room{}
	if !surge.IsNeeded(manager) {
		return room
	}
	if _, apart := surge.ApartBy(manager); apart {
		var nodes []corev1.Node
		room.NodesError = c.eachPage(ctx, metav1.ListOptions{}, func(page []corev1.Node) bool {
			nodes = append(nodes, page...)
			return !surge.Suffices(manager, nodes)
		})
		if room.NodesError == nil {
			room.Nodes = nodes
		}
	}
	c.addRefusal(ctx, manager, &room)
	return room
}

// RoomToSimulate finds out whether the API server takes one more pod of a PodManager, and whether there is room for a surge pod. A PodManager that
// does not exist yet needs no surge pod.
func (c *Cluster) RoomToSimulate(ctx context.Context, manager *v1.PodManager, isNew bool) surge.Room {
	switch {
	case manager.DesiredReplicas() == 0:
		return surge.Room{}
	case !isNew && surge.IsNeeded(manager):
		return c.Room(ctx, manager)
	}
	room := surge.Room{}
	c.addRefusal(ctx, manager, &room)
	room.RefusalError = nil // nothing depends on whether a quota has room for a surge pod
	return room
}

// addRefusal adds the answer of the API server to one more pod.
func (c *Cluster) addRefusal(ctx context.Context, manager *v1.PodManager, room *surge.Room) {
	err := c.tryPod(ctx, manager)
	if err == nil {
		return
	}
	switch failure := requeue.Failed(v1.ReasonFailedCreate, err); {
	case failure.Quota() != "":
		room.Refusal = &failure
	case failure.Refused() && rights.Refused(err.Error()) == "": // if the user lacks a right, the refusal says nothing about the pod
		room.Rejection = &failure
	default:
		room.RefusalError = c.Advise(err, manager.Namespace)
	}
}

// mostNodes is the largest number of nodes in one page of a list.
const mostNodes = 500

// eachPage reads nodes page by page, until visit wants no further page.
func (c *Cluster) eachPage(ctx context.Context, options metav1.ListOptions, visit func([]corev1.Node) (more bool)) error {
	options.Limit = mostNodes
	for {
		list, err := c.Kube.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			return err
		}
		if options.Continue = list.Continue; !visit(list.Items) || options.Continue == "" {
			return nil
		}
	}
}

// tryPod creates one more pod of a PodManager, as a dry run: the API server refuses the pod if a quota has no room for it, and stores nothing. The
// pod has no owner, because setting one may take the right to update the PodManager's finalizers.
func (c *Cluster) tryPod(ctx context.Context, manager *v1.PodManager) error {
	surge := plan.Creation{Index: manager.DesiredReplicas(), Revision: history.Find(history.Sources{Manager: manager}).Update}
	pod := plan.NewPod(manager, surge)
	pod.OwnerReferences = nil
	_, err := c.Kube.CoreV1().Pods(manager.Namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsAlreadyExists(err) { // the API server checks quotas before names
		return nil
	}
	return err
}
