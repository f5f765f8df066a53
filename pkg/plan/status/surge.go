package status

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// surgePatience is how long a surge pod may be without a node before the rollout counts as blocked. A cluster autoscaler usually adds a node sooner.
const surgePatience = 2 * time.Minute

// makeRoom is the way out of a rollout that waits for a surge pod. The controller does not change these settings by itself, because the change
// reduces availability.
const makeRoom = "no pod may be unavailable, so the rollout needs a surge pod: make room for it, or set maxUnavailable: 1 and maxSurge: 0"

// waitsForSurge reports whether the rollout can only continue with a surge pod: all pods that are wanted exist, and none of them may be unavailable.
func waitsForSurge(r Report) bool {
	return r.Rollout != nil && r.Rollout.Frozen == "" && !r.Rollout.RolledBack && r.Rollout.Outdated() > 0 && len(r.Active) >= r.Budget.Desired &&
		r.Manager.Strategy() == v1.RollingUpdateStrategy && r.Budget.MaxUnavailable == 0
}

// unplacedSurge returns the surge pod that has had no node for surgePatience, or nil if there is none. wait is the time until there is one, unless the
// scheduler finds a node first.
func unplacedSurge(r Report) (pod *corev1.Pod, wait time.Duration) {
	if !waitsForSurge(r) || len(r.Active) == r.Budget.Desired {
		return nil, 0
	}
	return unplaced(r)
}

// unplaced returns the pod with the lowest index that has had no node for surgePatience, or nil if there is none. wait is the time until there is one.
func unplaced(r Report) (pod *corev1.Pod, wait time.Duration) {
	for _, pod := range slices.SortedFunc(slices.Values(r.Active), func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) }) {
		scheduled := podstate.Condition(pod, corev1.PodScheduled)
		if scheduled == nil || scheduled.Status != corev1.ConditionFalse || scheduled.Reason != corev1.PodReasonUnschedulable {
			continue
		}
		until := scheduled.LastTransitionTime.Add(surgePatience).Sub(r.Now)
		if until <= 0 {
			return pod, 0
		}
		wait = requeue.Sooner(wait, until)
	}
	return nil, wait
}

func hasUnplacedSurge(r Report) bool {
	pod, _ := unplacedSurge(r)
	return pod != nil
}
