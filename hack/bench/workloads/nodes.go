package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/bench/census"
	"github.com/mycompany/podmanager/hack/bench/figures"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

const (
	// everyReport is how often a kubelet writes the status of its node if nothing changes. Its heartbeats in between are Leases.
	everyReport = 5 * time.Minute
	// fleetTime is how long the controller is measured. After that time, the controller manager notices that the nodes have no kubelets.
	fleetTime = 20 * time.Second
)

// runNodes measures what it costs to watch the nodes of a large cluster because a single PodManager replaces the pods of drained nodes. There is no
// peer: the ReplicaSet controller does not watch nodes.
func (b *Bench) runNodes(ctx context.Context) error {
	s, err := b.begin(ctx, b.managers.hasty(), 1)
	if err != nil {
		return err
	}
	err = s.measureNodes(ctx)
	// Not in one request, which the API server would end after a minute.
	removing := inParallel(context.WithoutCancel(ctx), s.sizes.Nodes, ownersAtOnce, func(ctx context.Context, i int) error {
		if err := s.kube.CoreV1().Nodes().Delete(ctx, nodeName(i), metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	return errors.Join(err, removing, s.leave(ctx))
}

func (s *step) measureNodes(ctx context.Context) error {
	if err := s.contender.create(ctx, s.spaces[0], 1, replicasOfMany); err != nil {
		return err
	}
	if err := s.managers.patch(ctx, s.spaces[0], ownerName(0), types.MergePatchType, []byte(`{"spec":{"disruption":{"onDrain":"Replace"}}}`)); err != nil {
		return err
	}
	if _, err := s.awaitStatuses(ctx, census.AllGood(1), "the pods are known to be good"); err != nil {
		return err
	}
	if err := s.measureFleet(ctx, figures.FewNodes, 0); err != nil {
		return err
	}
	err := inParallel(ctx, s.sizes.Nodes, ownersAtOnce, func(ctx context.Context, i int) error {
		_, err := s.kube.CoreV1().Nodes().Create(ctx, newNode(i), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return s.measureFleet(ctx, figures.ManyNodes, s.sizes.Nodes)
}

// measureFleet restarts the controller, and measures its memory and its CPU time while the kubelets of a fleet report as often as usual.
func (s *step) measureFleet(ctx context.Context, workload string, nodes int) error {
	if err := s.restart(ctx); err != nil {
		return err
	}
	if err := s.mark(ctx); err != nil {
		return err
	}
	reports := int(int64(nodes) * int64(fleetTime) / int64(everyReport))
	pause := fleetTime / time.Duration(reports+1)
	for i := range reports {
		report := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339))
		if _, err := s.kube.CoreV1().Nodes().Patch(ctx, nodeName(i), types.StrategicMergePatchType, report, metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
		if !lab.Pause(ctx, pause) {
			return ctx.Err()
		}
	}
	if reports == 0 && !lab.Pause(ctx, s.sizes.Rest) {
		return ctx.Err()
	}
	taken, err := s.take(ctx, figures.Values{})
	if err != nil {
		return err
	}
	s.add(workload, fmt.Sprintf("1 x %d, and %d more nodes", replicasOfMany, nodes), taken, figures.Memory, figures.CPUTime)
	return nil
}

// fleetLabel marks the nodes that this workload creates.
const fleetLabel = "bench.podmanager/fleet"

func nodeName(index int) string { return fmt.Sprintf("fleet-%d", index) }

// newNode returns a node object as large as those of real clusters, where the list of images takes most of the space. The node accepts no pods.
func newNode(index int) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(index),
			Labels: map[string]string{
				fleetLabel: "", corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", index%3), corev1.LabelHostname: nodeName(index),
			},
			// Otherwise the controller manager would add this annotation to 20 nodes a second, and the workload would have to wait for that.
			Annotations: map[string]string{"node.alpha.kubernetes.io/ttl": "300"},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: fleetLabel, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}},
		},
	}
	for i := range 50 {
		name := fmt.Sprintf("registry.example.com/team/service-%d@sha256:%064d", i, i)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{Names: []string{name}, SizeBytes: 100 << 20})
	}
	return node
}
