package rollout

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// comparison is what an update in place from one revision to another does, or why it cannot be done.
type comparison struct {
	change inplace.Diff
	whyNot string
}

// findObstacle tells why the rollout is refused, if pods may only be updated in place and cannot be.
func (r *State) findObstacle() string {
	if r.Manager.PodUpdatePolicy() != v1.InPlaceOnly {
		return ""
	}
	if r.RolledBack {
		return r.findObstacleBack(slices.Concat(r.UpdatedPods, r.StrayPods))
	}
	for _, pod := range r.UpdatedPods {
		if podstate.IsInfeasible(pod) {
			return pod.Name + ": " + podstate.OneLine("Infeasible", podstate.Condition(pod, corev1.PodResizePending).Message)
		}
	}
	moved := r.StrayPods
	if r.Old == nil || len(r.OldPods) > r.Manager.Partition() { // the others may stay as they are
		moved = slices.Concat(r.OldPods, r.StrayPods)
	}
	for _, pod := range moved {
		if why := r.WhyNotInPlace(pod, r.Revisions.Update); why != "" {
			return pod.Name + ": " + why
		}
	}
	if len(r.OldPods)+r.missing() >= r.Manager.Partition() || len(r.UpdatedPods) <= r.DueUpdated() {
		return ""
	}
	return r.findObstacleBack(r.UpdatedPods)
}

// findObstacleBack is the same for pods that are to return to base. Those that can do so, whatever is in the way of others.
func (r *State) findObstacleBack(pods []*corev1.Pod) (obstacle string) {
	if r.Old == nil {
		return ""
	}
	for _, pod := range pods {
		why := r.WhyNotInPlace(pod, r.Old)
		if why == "" {
			return ""
		}
		obstacle = cmp.Or(obstacle, pod.Name+": "+why)
	}
	return obstacle
}

// WhyNotInPlace tells why a pod cannot be changed to a revision in place; empty if it can.
func (r *State) WhyNotInPlace(pod *corev1.Pod, to *history.Revision) string {
	from := r.revisionOf(pod)
	if from == nil {
		return "the template that the pod was made from is not known any more"
	}
	if refused := inplace.RefusalOf(pod, to.Hash); refused != "" {
		return refused
	}
	if podstate.IsInfeasible(pod) && from == to { // what another revision asks for may be had
		return "its node cannot give it the CPU or memory"
	}
	_, why := r.compare(from, to)
	return why
}

// compare is what changeBetween says of two revisions. Most pods have it in common, so it is remembered.
func (r *State) compare(from, to *history.Revision) (inplace.Diff, string) {
	known, found := r.compared[[2]*history.Revision{from, to}]
	if !found {
		known.change, known.whyNot = inplace.Compare(from.Template(), to.Template())
		r.compared[[2]*history.Revision{from, to}] = known
	}
	return known.change, known.whyNot
}
