package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// rollingPlan decides which active pods are deleted or updated in place, and how many pods are created.
//
// It enforces three limits, with the values of Budget.
//   - maxSurge: at most desired + surge active pods, so that a rollout needs no more resources. enforceMaxSurge limits the creations,
//     terminateSurplus deletes pods above the limit.
//   - maxUnavailable: enough pods keep serving. mayTakeDown allows an available pod to be deleted or updated in place only if more than
//     minAvailable pods are available.
//   - quota: at most maxSurge + maxUnavailable updated pods are unavailable at a time. This limit matters when pods are missing for
//     another reason: if the user scales up while a bad revision is being rolled out, most of the missing pods are created from the
//     old revision.
type rollingPlan struct {
	*State
	// surge is maxSurge while surge pods are needed, else 0.
	surge int
	// active are the active pods that stay. If pods may have to be deleted, the least useful pod comes first.
	active []*corev1.Pod
	// terminated counts the pods that terminate has chosen so far and that are still in active.
	terminated int
	// available are the available pods that this plan keeps available. mayRestart are the available pods that the kubelet may restart at any time.
	available, mayRestart map[*corev1.Pod]bool
	// unavailableUpdated counts the pods of the new revision that are unavailable, or that the kubelet is still updating in place.
	unavailableUpdated int
	// surplus is how many pods each side has above its desired number. It is negative if pods are missing.
	surplus map[side]int
	// waitForTermination is set if podReplacementPolicy is TerminationComplete: terminating pods then count against maxSurge.
	// terminating is how many pods were terminating before this plan.
	waitForTermination bool
	terminating        int
	// refused is set if the API server refused the last pod of the new revision, held if the backoff after the refusal is not over.
	refused, blocked bool

	deletions []Deletion
	updates   []inplace.Update
	// updating are the pods that this plan updates in place, drains or restores, and drained pods whose grace period is not over.
	updating map[*corev1.Pod]bool
	// again is the time until the first of these grace periods is over; zero if there is none.
	again time.Duration
}

// MayTerminate returns how many more pods spec.scaleDown.maxTerminating allows the controller to delete while some are still terminating.
func MayTerminate(manager *v1.PodManager, active, terminating int) int {
	limit := active + terminating
	if scaleDown := manager.Spec.ScaleDown; scaleDown != nil && scaleDown.MaxTerminating != nil {
		// The CRD rejects invalid values. An invalid value that was stored before the CRD rejected it means no limit.
		if scaled, err := intstr.GetScaledValueFromIntOrPercent(scaleDown.MaxTerminating, active+terminating, true); err == nil {
			limit = max(1, scaled)
		}
	}
	return max(0, limit-terminating)
}

func newRollingPlan(r *State) *rollingPlan {
	m := &rollingPlan{State: r, mayRestart: map[*corev1.Pod]bool{}, updating: map[*corev1.Pod]bool{}}
	m.active = slices.Concat(r.UpdatedPods, r.OldPods, r.MustMovePods)
	m.available = make(map[*corev1.Pod]bool, len(m.active))
	m.surplus = map[side]int{
		newSide: len(r.UpdatedPods) - (m.Desired - r.desiredOld), oldSide: len(r.OldPods) - r.desiredOld, neither: len(r.MustMovePods),
	}
	if m.surplus[neither] > 0 || m.surplus[oldSide] > 0 || m.surplus[newSide] > 0 || slices.ContainsFunc(m.active, podstate.IsMarked) {
		// After an update in place a pod becomes ready again, so the time of readiness does not reflect its age.
		m.active = podstate.RankForDeletion(m.active, r.Manager.PodUpdatePolicy() != v1.RecreatePods)
		m.rankSupersededFirst()
		if len(m.LeaveFirst) > 0 {
			slices.SortStableFunc(m.active, func(a, b *corev1.Pod) int { return -podstate.FalseFirst(m.LeaveFirst[a], m.LeaveFirst[b]) })
		}
	} // otherwise all pods stay, and their order does not matter
	needsSurgePods := m.rankSurgePodsFirst()
	for _, pod := range m.active {
		if health.IsAvailable(pod, r.Manager.MinReady(), r.Now) {
			m.available[pod] = true
			if inplace.MayRestart(pod) {
				m.mayRestart[pod] = true
			}
		}
	}
	m.unavailableUpdated = len(r.UpdatedPods) - r.countServing(func(pod *corev1.Pod) bool { return m.available[pod] })
	m.surge = m.allowedSurge(needsSurgePods)
	return m
}

// allowedSurge returns maxSurge while pods have to move to another revision, or a frozen rollout keeps its surge pods. Otherwise it returns 0.
func (m *rollingPlan) allowedSurge(needed bool) int {
	needed = needed || len(m.MustMovePods) > 0 || m.surplus[oldSide] > 0 || m.missingOld() > 0 && m.surplus[newSide] > 0
	if m.Frozen != "" {
		hasUpdated := len(m.UpdatedPods) > 0 || m.Frozen == v1.ReasonHalted && m.unreplaced > 0
		needed = m.keepsSurge() && hasUpdated && len(m.OldPods)+len(m.MustMovePods) > 0
	}
	// If no pod may be unavailable, a pod that is marked for deletion is deleted after its replacement has become available.
	needed = needed || m.MaxUnavailable == 0 && slices.ContainsFunc(m.active, podstate.IsMarked)
	if !needed || m.Desired == 0 {
		return 0
	}
	return m.MaxSurge
}

// keepsSurge reports whether a frozen rollout keeps its surge pods. It does during a halt, which may end at any time, and during a pause until the
// user scales down.
func (r *State) keepsSurge() bool {
	return r.Frozen == v1.ReasonHalted ||
		r.Frozen == v1.ReasonPaused && r.hasRolloutRecord() && r.Desired >= int(r.Manager.Status.Rollout.Replicas)
}

// missingUpdated and missingOld return how many pods the new and the old side lack.
func (m *rollingPlan) missingUpdated() int { return max(0, -m.surplus[newSide]) }

func (m *rollingPlan) missingOld() int { return max(0, -m.surplus[oldSide]) }

// remaining returns how many active pods stay.
func (m *rollingPlan) remaining() int { return len(m.active) - m.terminated }

// isUnavailableUpdated reports whether the pod has the new revision and is unavailable or still being updated in place.
func (m *rollingPlan) isUnavailableUpdated(pod *corev1.Pod) bool {
	return m.sideOf(pod) == newSide && (!m.available[pod] || inplace.IsUpdating(pod))
}

// makeUnavailable records that this plan makes the pod unavailable.
func (m *rollingPlan) makeUnavailable(pod *corev1.Pod) {
	delete(m.available, pod)
	delete(m.mayRestart, pod)
}

// mayTakeDown enforces maxUnavailable: it reports whether the pod may be deleted or updated in place.
func (m *rollingPlan) mayTakeDown(pod *corev1.Pod) bool {
	switch {
	case m.mayRestart[pod]:
		return len(m.available) > m.MinAvailable
	case m.available[pod]:
		// The plan does not rely on pods that the kubelet may restart at any time.
		return len(m.available)-len(m.mayRestart) > m.MinAvailable
	case m.sideOf(pod) == newSide:
		return true // taking down an unavailable pod of the new revision does not reduce availability
	default:
		// An unavailable pod of another revision may still become available, so it counts towards MinAvailable here. Unavailable updated pods do not.
		// If pods of the old revision are missing, this pod makes room for one.
		return m.remaining()-m.unavailableUpdated > m.MinAvailable || m.missingOld() > 0
	}
}

// blockingTerminations returns how many terminating pods count against maxSurge, so that replacements have to wait.
func (m *rollingPlan) blockingTerminations() int {
	if !m.waitForTermination {
		return 0
	}
	return m.terminating + len(m.deletions)
}

// shares returns how many of the excess pods each side gives up, in proportion to the pods it has. If rounding leaves pods over, the sides that
// lost the largest fractions to rounding give them up.
func (m *rollingPlan) shares(excess int) map[side]int {
	count, shares := map[side]int{}, map[side]int{}
	for _, pod := range m.active {
		count[m.sideOf(pod)]++
	}
	sides := []side{neither, oldSide, newSide} // in the same order every time
	unassigned := excess
	for _, side := range sides {
		shares[side] = excess * count[side] / m.remaining()
		unassigned -= shares[side]
	}
	roundedOff := func(s side) int { return excess*count[s] - shares[s]*m.remaining() }
	for ; unassigned > 0; unassigned-- {
		shares[slices.MaxFunc(sides, func(a, b side) int { return roundedOff(a) - roundedOff(b) })]++
	}
	return shares
}

// quota returns how many more updated pods may be unavailable. After a refusal, one pod is enough to find out whether the API server still refuses
// them.
func (m *rollingPlan) quota() int {
	if !m.protectsOld() {
		return m.Desired
	}
	quota := m.MaxSurge + m.MaxUnavailable - m.unavailableUpdated
	if m.refused {
		quota = min(quota, 1)
	}
	return max(0, quota)
}

// protectsOld reports whether the quota applies, which prevents too many pods of the old revision from being replaced by unavailable ones. If no
// pod of another revision runs, and no updated pod fails, there is nothing to protect.
func (m *rollingPlan) protectsOld() bool {
	return m.Old != nil && (len(m.OldPods)+len(m.MustMovePods)+m.failing() > 0 || m.refused)
}

// enforceMaxSurge reduces the creations so that the number of pods stays within the limit. Pods of the old revision come first. It adds pods of the
// old revision if the new revision does not provide enough.
func (m *rollingPlan) enforceMaxSurge(wanted creations, limit int) creations {
	existing := m.remaining() + m.blockingTerminations()
	old := min(wanted.old, max(0, limit-existing))
	create := creations{old: old, updated: min(wanted.updated, max(0, limit-existing-old))}
	if m.protectsOld() {
		create.old += m.completeFromOld(existing, create)
	}
	return create
}

// completeFromOld returns how many more pods to create from the old revision. They take the place of pods that the quota denies to the new revision.
// If many updated pods are unavailable, there are enough of them to reach MinAvailable without the updated pods. While the API server refuses pods of
// the new revision, it creates old ones only up to MinAvailable, so that there is room to try a new one again.
func (m *rollingPlan) completeFromOld(existing int, create creations) int {
	atLeast, created := m.Desired, create.old+create.updated
	if m.refused {
		atLeast = m.MinAvailable
	}
	if m.blocked {
		created = create.old
	}
	missing := max(atLeast-existing-created, m.MinAvailable-(existing-m.unavailableUpdated)-create.old)
	return max(0, min(missing, m.Desired+m.surge-existing-created))
}
