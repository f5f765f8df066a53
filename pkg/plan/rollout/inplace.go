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

// standInsFirst makes the pods go first that were made beside others which are updated in place. It tells whether one of
// these is still away, so that they are needed.
func (m *mover) standInsFirst() (away bool) {
	isChanged := func(pod *corev1.Pod) bool { return inplace.CompletedRecord(pod).Revision != "" }
	if !m.isRolling() || !slices.ContainsFunc(m.UpdatedPods, isChanged) {
		return false
	}
	// One that somebody has asked to go is no less in the way than they are, and may be what one of them is there for.
	isStandIn := func(pod *corev1.Pod) bool {
		return m.countsAs(pod) == m.Revisions.Update && !isChanged(pod) || podstate.IsMarked(pod)
	}
	slices.SortStableFunc(m.active, func(a, b *corev1.Pod) int { return -podstate.FalseFirst(isStandIn(a), isStandIn(b)) })
	return slices.ContainsFunc(m.UpdatedPods, func(pod *corev1.Pod) bool {
		return isChanged(pod) && (!podstate.IsReady(pod) || inplace.IsUpdating(pod))
	})
}

// outdatedPods are the pods to be moved: those that can be updated in place, and those to be replaced.
func (m *mover) outdatedPods() (inPlace []*corev1.Pod, replaced map[*corev1.Pod]bool) {
	policy := m.Manager.PodUpdatePolicy()
	replaced = map[*corev1.Pod]bool{}
	left := map[*history.Revision]int{}
	for _, pod := range m.active {
		kind := m.countsAs(pod)
		if left[kind] >= m.surplus[kind] {
			continue
		}
		left[kind]++
		switch {
		case !m.isNeededUpdated(pod):
			replaced[pod] = true
		case policy != v1.RecreatePods && m.WhyNotInPlace(pod, m.target(pod)) == "":
			inPlace = append(inPlace, pod)
		case policy != v1.InPlaceOnly:
			replaced[pod] = true
		}
	}
	return inPlace, replaced
}

// isNeededUpdated tells whether a pod that is too many of its kind is wanted as one of the other. Where pods had to be made beside
// the others to begin with, these are what is too many in the end.
func (m *mover) isNeededUpdated(pod *corev1.Pod) bool {
	switch m.target(pod) {
	case m.countsAs(pod):
		return false
	case m.Old:
		return m.missingOld() > 0
	default:
		return m.missingUpdated() > 0 || (m.Manager.MaxUnavailable() == 0 && m.desired > m.wantOld)
	}
}

// target is the revision that a pod is to have if it is outdated.
func (m *mover) target(pod *corev1.Pod) *history.Revision {
	if m.Old != nil && (m.RolledBack || m.countsAs(pod) == m.Revisions.Update) {
		return m.Old
	}
	return m.Revisions.Update
}

// standIns is how many more pods are to be made of a kind, beside those that are to be changed to it in place, where only
// that makes it possible. Those that are there already are not too many.
func (m *mover) standIns(kind *history.Revision, changed map[*history.Revision]int, replaced map[*corev1.Pod]bool) int {
	wanted := min(m.surge, changed[kind])
	for _, pod := range slices.Backward(m.active) { // the most useful first
		if wanted > 0 && replaced[pod] && m.countsAs(pod) == kind {
			delete(replaced, pod)
			wanted--
		}
	}
	return wanted
}

// updateInPlace takes the next step with pods that are being changed, and begins with more, as far as the quota of updated
// pods goes. It returns how much of that is used.
func (m *mover) updateInPlace(pods []*corev1.Pod, quota int) (used int) {
	isUnderway := func(pod *corev1.Pod) bool { return podstate.IsDrained(pod) || inplace.HasBegun(pod) }
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return -podstate.FalseFirst(isUnderway(a), isUnderway(b)) })
	for _, pod := range pods {
		to := m.target(pod)
		if !m.canSpare(pod) || (to == m.Revisions.Update && used >= quota) {
			continue
		}
		if to == m.Revisions.Update {
			used++
		}
		if m.makeUnavailable(pod); to == m.Revisions.Update {
			m.underway++
		}
		m.updating[pod] = true
		next := inplace.Update{Pod: pod, Step: inplace.StepUpdate, From: m.revisionOf(pod), To: to}
		if change, _ := m.compare(next.From, to); change.TakesTheNode() {
			var wait time.Duration
			next.Step, wait = inplace.NextStep(m.Manager, pod, m.Now)
			m.again = requeue.Sooner(m.again, wait)
		}
		if next.Step != "" {
			m.updates = append(m.updates, next)
		}
	}
	return used
}

// restorations give pods back what their revision says, for which a change has begun that is not to be completed now: it may
// be long until then. One that may be restarted by that has to be spared for it.
func (m *mover) restorations() []inplace.Update {
	var restore []inplace.Update
	for _, pod := range m.active {
		revision := m.revisionOf(pod)
		if !inplace.HasBegun(pod) || m.updating[pod] || revision == nil || revision.Template() == nil || m.available[pod] && inplace.MayRestart(pod) && !m.canSpare(pod) {
			continue
		}
		m.makeUnavailable(pod)
		m.updating[pod] = true
		restore = append(restore, inplace.Update{Pod: pod, Step: inplace.StepRestore, From: revision, To: revision})
	}
	return restore
}

// openings open the readiness gates of pods that need not be kept out of their Services any more.
func (m *mover) openings() []inplace.Update {
	var open []inplace.Update
	for _, pod := range m.active {
		if inplace.MustOpen(pod) && !m.updating[pod] {
			open = append(open, inplace.Update{Pod: pod, Step: inplace.StepOpen})
		}
	}
	return open
}
