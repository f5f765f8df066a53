package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// Report returns what the status is computed from: the decisions of the plan, and the pods after the plan was carried out. changed is whether
// carrying it out has changed any pod. If so, the rollout is assessed again, because the status describes the pods as they are now. It is also
// assessed again if the plan adopts pods, or stores revisions, which count only when they are stored.
func (p Plan) Report(manager *v1.PodManager, pods []*corev1.Pod, changed bool, now time.Time) status.Report {
	kept, _ := podstate.KeepOrRelease(manager, pods)
	active, finished, _ := podstate.Split(kept)
	stay, leaves := p.withoutLeaving(active)
	report := status.Report{
		Manager: manager, Budget: rollout.BudgetOf(manager), Pods: pods, Active: stay, Leaving: leaves, Rollout: p.Rollout, Now: now,
		Plan: status.Decided{
			ActsOnPods: p.ActsOnPods(), Waiting: p.Waiting, Foreign: p.Foreign, Leaving: p.Leaving, Alone: p.Alone, NodesForbidden: p.NodesForbidden,
		},
	}
	if manager.DeletionTimestamp == nil && (changed || p.Rollout == nil || len(p.Adopt)+len(p.Store) > 0) {
		report.Rollout = rollout.Assess(manager, p.Revisions, p.Capabilities, stay, finished, now, leaving.PodsOf(leaves)...).Conclude()
	}
	return report
}

// withoutLeaving returns the active pods that count, and those that are leaving.
func (p Plan) withoutLeaving(active []*corev1.Pod) (stay []*corev1.Pod, leaves []leaving.Pod) {
	if len(p.Leaving) == 0 {
		return active, nil
	}
	for _, pod := range active {
		if i := slices.IndexFunc(p.Leaving, func(l leaving.Pod) bool { return l.UID == pod.UID }); i >= 0 {
			leaves = append(leaves, p.Leaving[i])
		} else {
			stay = append(stay, pod)
		}
	}
	return stay, leaves
}
