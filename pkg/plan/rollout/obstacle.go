package rollout

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/compare"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// comparison is what an update in place from one revision to another changes, or why it is impossible.
type comparison struct {
	diff   compare.Diff
	whyNot string
}

// findObstacle returns why the rollout cannot continue if pods may only be updated in place, or empty if it can.
func (r *State) findObstacle() string {
	if r.Manager.PodUpdatePolicy() != v1.InPlaceOnly {
		return ""
	}
	if r.RolledBack {
		return r.findObstacleToOld(slices.Concat(r.UpdatedPods, r.MustMovePods))
	}
	for _, pod := range r.UpdatedPods {
		if podstate.IsInfeasible(pod) {
			return pod.Name + ": " + podstate.OneLine("Infeasible", podstate.Condition(pod, corev1.PodResizePending).Message)
		}
	}
	outdated := r.MustMovePods
	if len(r.OldPods) > r.Desired-r.DesiredUpdated() { // otherwise all old pods stay
		outdated = slices.Concat(r.OldPods, r.MustMovePods)
	}
	for _, pod := range outdated {
		if why := r.WhyNotInPlace(pod, r.Revisions.Update); why != "" {
			return pod.Name + ": " + why
		}
	}
	if len(r.OldPods)+r.missing() >= r.Manager.Partition() || len(r.UpdatedPods) <= r.DesiredUpdated() {
		return ""
	}
	return r.findObstacleToOld(r.UpdatedPods)
}

// findObstacleToOld returns why none of the pods can return to the old revision in place. If any pod can, there is no obstacle.
func (r *State) findObstacleToOld(pods []*corev1.Pod) (obstacle string) {
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

// WhyNotInPlace returns why a pod cannot be updated in place to a revision, or empty if it can.
func (r *State) WhyNotInPlace(pod *corev1.Pod, to *history.Revision) string {
	from := r.revisionOf(pod)
	if from == nil {
		return "the pod's revision no longer exists"
	}
	if podstate.IsUnmanaged(pod) {
		return "the PodManager did not create it, so its template is not known"
	}
	if refused := inplace.RefusalOf(pod, to.Hash); refused != "" && !r.mayRetry(pod) {
		return refused
	}
	if podstate.IsInfeasible(pod) && from == to { // another revision may request less
		return "its node cannot give it the CPU or memory"
	}
	diff, why := r.compare(from, to)
	return cmp.Or(why, r.Capabilities.WhyNot(pod, inplace.DiffFor(pod, diff)))
}

// ConcernsKubelet reports whether the pod can be updated in place to a revision, and the kubelet has work to do for the update.
func (r *State) ConcernsKubelet(pod *corev1.Pod, to *history.Revision) bool {
	if r.WhyNotInPlace(pod, to) != "" {
		return false
	}
	diff, _ := r.compare(r.revisionOf(pod), to)
	return inplace.DiffFor(pod, diff).NeedsKubelet()
}

// mayRetry reports whether a refused update of the pod may be retried. If the pod may be replaced instead, it is not retried.
func (r *State) mayRetry(pod *corev1.Pod) bool {
	wait, known := inplace.UntilRetry(pod, r.Now)
	return known && wait == 0 && r.Manager.PodUpdatePolicy() == v1.InPlaceOnly
}

// untilRetry returns the time until the first refused update may be retried, or zero if none waits.
func (r *State) untilRetry() (first time.Duration) {
	if r.Manager.PodUpdatePolicy() != v1.InPlaceOnly {
		return 0
	}
	for _, pods := range [][]*corev1.Pod{r.UpdatedPods, r.OldPods, r.MustMovePods} {
		for _, pod := range pods {
			wait, _ := inplace.UntilRetry(pod, r.Now)
			first = requeue.Sooner(first, wait)
		}
	}
	return first
}

// compare caches compare.Templates: most pods of a rollout move between the same two revisions.
func (r *State) compare(from, to *history.Revision) (compare.Diff, string) {
	result, found := r.compared[[2]*history.Revision{from, to}]
	if !found {
		result.diff, result.whyNot = compare.Templates(from.Template(), to.Template())
		r.compared[[2]*history.Revision{from, to}] = result
	}
	return result.diff, result.whyNot
}
