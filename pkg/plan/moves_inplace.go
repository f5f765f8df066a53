package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// standInsFirst makes the pods go first that were made beside others which are changed in place. It tells whether one of
// these is still away, so that they are needed.
func (m *moves) standInsFirst() (away bool) {
	isChanged := func(pod *corev1.Pod) bool { return inPlaceRecord(pod).Revision != "" }
	if !m.isRolling() || !slices.ContainsFunc(m.updated, isChanged) {
		return false
	}
	// One that somebody has asked to go is no less in the way than they are, and may be what one of them is there for.
	isStandIn := func(pod *corev1.Pod) bool {
		return m.kind(pod) == m.revisions.Update && !isChanged(pod) || isMarked(pod)
	}
	slices.SortStableFunc(m.active, func(a, b *corev1.Pod) int { return -falseFirst(isStandIn(a), isStandIn(b)) })
	return slices.ContainsFunc(m.updated, func(pod *corev1.Pod) bool { return isChanged(pod) && (!isReady(pod) || isChanging(pod)) })
}

// outdatedPods are the pods to be moved: those that can be changed in place, and those to be replaced.
func (m *moves) outdatedPods() (inPlace []*corev1.Pod, replaced map[*corev1.Pod]bool) {
	policy := m.manager.PodUpdatePolicy()
	replaced = map[*corev1.Pod]bool{}
	left := map[*Revision]int{}
	for _, pod := range m.active {
		kind := m.kind(pod)
		if left[kind] >= m.over[kind] {
			continue
		}
		left[kind]++
		switch {
		case !m.isOfUse(pod):
			replaced[pod] = true
		case policy != v1.RecreatePods && m.notInPlace(pod, m.target(pod)) == "":
			inPlace = append(inPlace, pod)
		case policy != v1.InPlaceOnly:
			replaced[pod] = true
		}
	}
	return inPlace, replaced
}

// isOfUse tells whether a pod that is too many of its kind is wanted as one of the other. Where pods had to be made beside
// the others to begin with, these are what is too many in the end.
func (m *moves) isOfUse(pod *corev1.Pod) bool {
	switch m.target(pod) {
	case m.kind(pod):
		return false
	case m.base:
		return m.needBase() > 0
	default:
		return m.needUpdated() > 0 || (m.manager.MaxUnavailable() == 0 && m.desired > m.wantBase)
	}
}

// target is the revision that a pod is to have if it is outdated.
func (m *moves) target(pod *corev1.Pod) *Revision {
	if m.base != nil && (m.rolledBack || m.kind(pod) == m.revisions.Update) {
		return m.base
	}
	return m.revisions.Update
}

// helpers is how many more pods are to be made of a kind, beside those that are to be changed to it in place, where only
// that makes it possible. Those that are there already are not too many.
func (m *moves) helpers(kind *Revision, changed map[*Revision]int, replaced map[*corev1.Pod]bool) int {
	wanted := min(m.surge, changed[kind])
	for _, pod := range slices.Backward(m.active) { // the most useful first
		if wanted > 0 && replaced[pod] && m.kind(pod) == kind {
			delete(replaced, pod)
			wanted--
		}
	}
	return wanted
}

// changeInPlace takes the next step with pods that are being changed, and begins with more, as far as the quota of updated
// pods goes. It returns how much of that is used.
func (m *moves) changeInPlace(pods []*corev1.Pod, quota int) (used int) {
	isUnderway := func(pod *corev1.Pod) bool { return isDrained(pod) || hasBegun(pod) }
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return -falseFirst(isUnderway(a), isUnderway(b)) })
	for _, pod := range pods {
		to := m.target(pod)
		if !m.spare(pod) || (to == m.revisions.Update && used >= quota) {
			continue
		}
		if to == m.revisions.Update {
			used++
		}
		if m.spend(pod); to == m.revisions.Update {
			m.underway++
		}
		m.changing[pod] = true
		next := InPlace{Pod: pod, Step: StepChange, From: m.revisionOf(pod), To: to}
		if change, _ := m.change(next.From, to); change.takesTheNode() {
			var wait time.Duration
			next.Step, wait = nextStep(m.manager, pod, m.now)
			m.again = soonest(m.again, wait)
		}
		if next.Step != "" {
			m.changes = append(m.changes, next)
		}
	}
	return used
}

// restorations give pods back what their revision says, for which a change has begun that is not to be completed now: it may
// be long until then. One that may be restarted by that has to be spared for it.
func (m *moves) restorations() []InPlace {
	var restore []InPlace
	for _, pod := range m.active {
		revision := m.revisionOf(pod)
		if !hasBegun(pod) || m.changing[pod] || revision == nil || revision.Template() == nil || m.available[pod] && mayRestart(pod) && !m.spare(pod) {
			continue
		}
		m.spend(pod)
		m.changing[pod] = true
		restore = append(restore, InPlace{Pod: pod, Step: StepRestore, From: revision, To: revision})
	}
	return restore
}

// openings open the readiness gates of pods that need not be kept out of their Services any more.
func (m *moves) openings() []InPlace {
	var open []InPlace
	for _, pod := range m.active {
		if mustOpen(pod) && !m.changing[pod] {
			open = append(open, InPlace{Pod: pod, Step: StepOpen})
		}
	}
	return open
}
