package cluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/why"
)

// ReadDrain reads what a drain of nodes depends on: PodDisruptionBudgets, and the nodes that take pods meanwhile. What the user may not read becomes a
// note. It returns an error if a node does not exist.
func (c *Cluster) ReadDrain(ctx context.Context, namespace string, nodes []string) (simulate.Drain, error) {
	drain := simulate.Drain{Nodes: nodes}
	var err error
	drain.Budgets, err = c.budgets(ctx, namespace)
	switch {
	case apierrors.IsForbidden(err):
		drain.Notes = append(drain.Notes, fmt.Sprintf("you may not read PodDisruptionBudgets in namespace %s, so that no eviction is refused; the role view shows them", namespace))
	case err != nil:
		return drain, c.Advise(err, namespace)
	}
	for _, name := range nodes {
		_, err := c.Kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsForbidden(err) {
			drain.Notes = append(drain.Notes, "you may not read nodes, so that there is taken to be another one with room")
			return drain, nil
		}
		if apierrors.IsNotFound(err) {
			return drain, fmt.Errorf("there is no node %s", name)
		}
		if err != nil {
			return drain, c.Advise(err, namespace)
		}
	}
	drain.Others, drain.HasNoOther, err = c.schedulable(ctx, nodes)
	if err != nil && !apierrors.IsForbidden(err) {
		return drain, c.Advise(err, namespace)
	}
	return drain, nil
}

// mostNodes is the number of nodes that are read at once.
const mostNodes = 500

// schedulable returns the first nodes that take pods, apart from those that are to be drained, and whether it is known that there is none.
func (c *Cluster) schedulable(ctx context.Context, drained []string) (names []string, hasNone bool, err error) {
	list, err := c.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{FieldSelector: "spec.unschedulable=false", Limit: mostNodes})
	if err != nil {
		return nil, false, err
	}
	for i := range list.Items {
		node := &list.Items[i]
		isReady := slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		})
		if isReady && leaving.Draining(node) == "" && !slices.Contains(drained, node.Name) {
			names = append(names, node.Name)
		}
	}
	return names, len(names) == 0 && list.Continue == "", nil
}

// addDrain adds what keeps a drain from ending, as far as the user may read it: a PodDisruptionBudget that allows no eviction now.
func (c *Cluster) addDrain(ctx context.Context, s snapshot.Snapshot, answer *why.Answer) {
	list, err := c.budgets(ctx, s.Manager.Namespace)
	if err != nil || !slices.ContainsFunc(list, func(b policyv1.PodDisruptionBudget) bool { return b.Status.DisruptionsAllowed == 0 }) {
		return
	}
	draining := map[string]string{}
	for _, pod := range s.Pods {
		name := pod.Spec.NodeName
		if _, known := draining[name]; known || name == "" || len(draining) == mostNodesOfWhy {
			continue
		}
		node, err := c.Kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil { // often, only administrators may read nodes: the status names pods that leave
			break
		}
		draining[name] = leaving.Draining(node)
	}
	answer.AddDrain(s, list, draining)
}

// mostNodesOfWhy is the number of nodes that why reads.
const mostNodesOfWhy = 20
