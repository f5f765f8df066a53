package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// rankSurgePodsFirst ranks the surge pods of an update in place first for deletion: they were created so that other pods could be unavailable
// during their update. It reports whether an updated pod is still unavailable or updating, so that surge pods are needed.
func (m *rollingPlan) rankSurgePodsFirst() (needed bool) {
	if !m.isRolling() || !slices.ContainsFunc(m.UpdatedPods, wasUpdated) {
		return false
	}
	// Pods that are marked for deletion rank with the surge pods, because a surge pod may be the replacement of one of them.
	goesFirst := func(pod *corev1.Pod) bool {
		return m.isSurgePod(pod) || podstate.IsMarked(pod)
	}
	slices.SortStableFunc(m.active, func(a, b *corev1.Pod) int { return -podstate.FalseFirst(goesFirst(a), goesFirst(b)) })
	return slices.ContainsFunc(m.UpdatedPods, func(pod *corev1.Pod) bool {
		return wasUpdated(pod) && (!podstate.IsReady(pod) || inplace.IsUpdating(pod) || inplace.StatusTrustDelay(pod, m.Now) > 0)
	})
}

func wasUpdated(pod *corev1.Pod) bool { return inplace.CompletedRecord(pod).Revision != "" }

// isSurgePod reports whether a pod is one that updates in place create, so that other pods can be unavailable.
func (m *rollingPlan) isSurgePod(pod *corev1.Pod) bool {
	return m.sideOf(pod) == newSide && !wasUpdated(pod)
}

// rankSupersededFirst ranks ready pods of the current revision last. The next canary then takes the place of the previous one, not of a pod that
// has a good revision.
func (m *rollingPlan) rankSupersededFirst() {
	isCurrent := func(pod *corev1.Pod) bool {
		return m.Revisions.Current != nil && podstate.IsReady(pod) && m.revisionOf(pod) == m.Revisions.Current && !podstate.IsMarked(pod)
	}
	if m.isRolling() && slices.ContainsFunc(m.OldPods, func(pod *corev1.Pod) bool { return podstate.IsReady(pod) && !isCurrent(pod) }) {
		slices.SortStableFunc(m.active, func(a, b *corev1.Pod) int { return podstate.FalseFirst(isCurrent(a), isCurrent(b)) })
	}
}

// outdatedPods returns the pods to move to another revision: pods to update in place and pods to replace.
func (m *rollingPlan) outdatedPods() (inPlace []*corev1.Pod, replaced map[*corev1.Pod]bool) {
	policy := m.Manager.PodUpdatePolicy()
	replaced = map[*corev1.Pod]bool{}
	outdated := map[side]int{}
	for _, pod := range m.active {
		side := m.sideOf(pod)
		if outdated[side] >= m.surplus[side] {
			continue
		}
		outdated[side]++
		switch {
		case !m.isNeededByTarget(pod):
			replaced[pod] = true
		case m.LeaveFirst[pod]: // an update in place would be lost with the node
			replaced[pod] = policy != v1.InPlaceOnly
		case policy != v1.RecreatePods && m.WhyNotInPlace(pod, m.revisionAt(m.target(pod))) == "":
			inPlace = append(inPlace, pod)
		case policy != v1.InPlaceOnly:
			replaced[pod] = true
		}
	}
	return inPlace, replaced
}

// isNeededByTarget reports whether the side that a surplus pod moves to needs the pod. If no pod may be unavailable, the rollout begins with surge
// pods of the new revision. In the end these are deleted, not the pods that can be updated in place.
func (m *rollingPlan) isNeededByTarget(pod *corev1.Pod) bool {
	switch m.target(pod) {
	case m.sideOf(pod):
		return false
	case oldSide:
		return m.missingOld() > 0
	default:
		return m.missingUpdated() > 0 || (m.MaxUnavailable == 0 && m.Desired > m.desiredOld)
	}
}

// target returns the side that a surplus pod moves to.
func (m *rollingPlan) target(pod *corev1.Pod) side {
	if m.Old != nil && (m.RolledBack || m.sideOf(pod) == newSide) {
		return oldSide
	}
	return newSide
}

// missingSurgePods returns how many surge pods of a side to create so that gained[side] pods can be updated in place although no pod may be
// unavailable. Existing surge pods are kept: missingSurgePods removes them from replaced.
func (m *rollingPlan) missingSurgePods(of side, gained map[side]int, replaced map[*corev1.Pod]bool) int {
	wanted := min(m.surge, gained[of])
	for _, pod := range slices.Backward(m.active) { // the most useful pods first
		if wanted > 0 && replaced[pod] && m.sideOf(pod) == of {
			delete(replaced, pod)
			wanted--
		}
	}
	return wanted
}

// updateInPlace plans the next step for pods whose update in place has started, and starts further updates, within maxUnavailable and the quota. It
// returns how much of the quota it uses.
func (m *rollingPlan) updateInPlace(pods []*corev1.Pod, quota int) (used int) {
	hasStarted := func(pod *corev1.Pod) bool { return podstate.IsDrained(pod) || inplace.IsInterrupted(pod) }
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return -podstate.FalseFirst(hasStarted(a), hasStarted(b)) })
	for _, pod := range pods {
		to := m.revisionAt(m.target(pod))
		if !m.mayTakeDown(pod) || (to == m.Revisions.Update && used >= quota) {
			m.delayRestoration(pod, to)
			continue
		}
		if to == m.Revisions.Update {
			used++
		}
		if m.makeUnavailable(pod); to == m.Revisions.Update {
			m.unavailableUpdated++
		}
		m.updating[pod] = true
		next := inplace.Update{Pod: pod, From: m.revisionOf(pod), To: to}
		diff, _ := m.compare(next.From, to)
		var wait time.Duration
		next.Step, wait = next.NextStep(m.Manager, m.Capabilities, inplace.DiffFor(pod, diff), m.Now)
		m.again = requeue.Sooner(m.again, wait)
		if next.Step != "" {
			m.updates = append(m.updates, next)
		}
	}
	return used
}

// delayRestoration keeps an update that has begun from being reverted at once if the limits do not let it continue: another pod may be unavailable
// only for a moment. If no pod may be unavailable, the update waits for a surge pod, which takes longer.
func (m *rollingPlan) delayRestoration(pod *corev1.Pod, to *history.Revision) {
	if wait := inplace.UntilRestored(pod, to.Hash, m.Now); wait > 0 && m.MaxUnavailable > 0 {
		m.updating[pod] = true
		m.again = requeue.Sooner(m.again, wait)
	}
}

// restorations plans to give pods the CPU and memory of their revision again if an update in place was interrupted and this plan does not complete
// it. An available pod that the kubelet may restart for that is restored only within maxUnavailable, and not at all if it is leaving.
func (m *rollingPlan) restorations() []inplace.Update {
	var restore []inplace.Update
	isAvailable := func(pod *corev1.Pod) bool {
		return m.available[pod] || slices.Contains(m.leaving, pod) && m.isAvailable(pod)
	}
	for _, pod := range slices.Concat(m.active, m.leaving) {
		revision := m.revisionOf(pod)
		if !inplace.IsInterrupted(pod) || !m.Capabilities.CanResizeAndDrain || m.updating[pod] || revision == nil || revision.Template() == nil ||
			isAvailable(pod) && inplace.MayRestart(pod) && (!m.available[pod] || !m.mayTakeDown(pod)) {
			continue
		}
		m.makeUnavailable(pod)
		m.updating[pod] = true
		restore = append(restore, inplace.Update{Pod: pod, Step: inplace.StepRestore, From: revision, To: revision})
	}
	return restore
}

// openings plans to open the readiness gates of pods that no longer have to stay out of their Services. Leaving pods are among them, because they
// serve until they are gone.
func (m *rollingPlan) openings() []inplace.Update {
	var open []inplace.Update
	for _, pod := range slices.Concat(m.active, m.leaving) {
		if inplace.MustOpen(pod, m.Now) && m.Capabilities.CanResizeAndDrain && !m.updating[pod] {
			open = append(open, inplace.Update{Pod: pod, Step: inplace.StepOpen})
		}
	}
	return open
}
