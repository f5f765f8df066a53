package cluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plugin/budget"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/surge"
	"github.com/mycompany/podmanager/pkg/plugin/why"
)

// ReadDrain reads what a drain of nodes depends on: PodDisruptionBudgets, and the nodes that take pods during the drain. For each kind that the user
// may not read, it adds a note. It returns an error if a node does not exist.
func (c *Cluster) ReadDrain(ctx context.Context, wanted *v1.PodManager, nodes []string) (simulate.Drain, error) {
	namespace := wanted.Namespace
	drain := simulate.Drain{Nodes: nodes}
	var err error
	drain.Budgets, err = c.budgets(ctx, namespace)
	switch {
	case apierrors.IsForbidden(err):
		drain.Notes = append(drain.Notes, fmt.Sprintf(
			"you may not read PodDisruptionBudgets in namespace %s, so the simulation refuses no eviction; the role view gives the right", namespace))
	case err != nil:
		return drain, c.Advise(err, namespace)
	}
	for _, name := range nodes {
		_, err := c.Kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsForbidden(err) {
			drain.Notes = append(drain.Notes, unknownNodes)
			return drain, nil
		}
		if apierrors.IsNotFound(err) {
			return drain, fmt.Errorf("there is no node %s", name)
		}
		if err != nil {
			return drain, c.Advise(err, namespace)
		}
	}
	drain.Others, err = c.schedulable(ctx, wanted, nodes)
	switch {
	case apierrors.IsForbidden(err):
		drain.Notes = append(drain.Notes, unknownNodes)
	case err != nil:
		return drain, c.Advise(err, namespace)
	default:
		drain.HasNoOther = len(drain.Others) == 0
	}
	return drain, nil
}

const unknownNodes = "you may not read nodes, so the simulation assumes that another node has room"

// schedulable returns nodes that take pods of the wanted template and are not to be drained. It reads no further page once it has found such a node.
func (c *Cluster) schedulable(ctx context.Context, wanted *v1.PodManager, drained []string) (names []string, err error) {
	template := history.Template(&wanted.Spec)
	takes := func(node *corev1.Node) bool {
		isReady := slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		})
		return isReady && leaving.Draining(node) == "" && !slices.Contains(drained, node.Name) && surge.Takes(node, &template.Spec)
	}
	err = c.eachPage(ctx, metav1.ListOptions{FieldSelector: "spec.unschedulable=false"}, func(page []corev1.Node) bool {
		for i := range page {
			if takes(&page[i]) {
				names = append(names, page[i].Name)
			}
		}
		return len(names) == 0
	})
	return names, err
}

// addDrain adds what keeps a drain from ending, as far as the user may read it: a PodDisruptionBudget that allows no eviction now, or two budgets
// that cover the same pods. In the latter case, the API server refuses every eviction.
func (c *Cluster) addDrain(ctx context.Context, s snapshot.Snapshot, answer *why.Answer) {
	list, err := c.budgets(ctx, s.Manager.Namespace)
	covering := budget.Covering(s.Manager, list)
	if err != nil || len(covering) == 0 || len(covering) == 1 && covering[0].Status.DisruptionsAllowed > 0 {
		return
	}
	draining := map[string]string{}
	for _, pod := range s.Pods {
		name := pod.Spec.NodeName
		if _, known := draining[name]; known || name == "" || len(draining) == mostNodesOfWhy {
			continue
		}
		node, err := c.Kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsForbidden(err) { // often, only administrators may read nodes: the status names pods that leave
			break
		}
		if draining[name] = ""; err == nil {
			draining[name] = leaving.Draining(node)
		}
	}
	answer.AddDrain(s, list, draining)
}

// mostNodesOfWhy is the largest number of nodes that why reads.
const mostNodesOfWhy = 20
