package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// Moves is what is to be done about the active pods.
type Moves struct {
	Delete []Deletion
	Update []inplace.Update
	// CreateOld and CreateUpdated are how many pods are to be created of the old revision and of the present one.
	CreateOld, CreateUpdated int
	// Held tells that pods of the present revision are missing, and not created because the last one was refused a moment ago.
	Held bool
	// Again is how long it is until a pod has been drained for long enough; zero if none is.
	Again time.Duration
}

// Decide decides which active pods go or change, and how many come. refused tells that the last pod of the present revision was
// refused, held that the next try has to wait.
func Decide(r *State, terminating []*corev1.Pod, refused, held bool) Moves {
	m := newMoves(r)
	m.refused, m.held = refused, held
	if r.Manager.Spec.PodReplacementPolicy == v1.TerminationComplete {
		m.waitForTermination, m.terminating = true, len(terminating)
	}
	come := m.decide(terminating)
	return Moves{
		Delete: m.deletions, Update: slices.Concat(m.updates, m.restorations(), m.openings()),
		CreateOld: come.old, CreateUpdated: come.updated, Held: m.held && m.missingUpdated() > 0, Again: m.again,
	}
}

func (m *mover) decide(terminating []*corev1.Pod) creations {
	allowed := MayTerminate(m.Manager, m.left(), len(terminating))
	m.terminateMarked(allowed)
	m.terminateSurplus(allowed - len(m.deletions))
	switch {
	case m.left() > m.desired+m.surge:
		m.updateWhileCrowded()
		return creations{} // first things first
	case m.IsUnstarted():
		return creations{}
	case m.Manager.Strategy() == v1.RecreateStrategy:
		return m.recreate(terminating)
	case m.Frozen != "":
		return m.replaceMarked(m.refill())
	default:
		return m.replaceMarked(m.roll())
	}
}

// terminate takes away the pods that the choice falls on, at most count.
func (m *mover) terminate(count int, choose func(pod *corev1.Pod) (Why, bool)) {
	stay := make([]*corev1.Pod, 0, len(m.active))
	defer func() { m.active, m.terminated = stay, 0 }()
	for _, pod := range m.active {
		why, chosen := Why(""), false
		if count > 0 {
			why, chosen = choose(pod)
		}
		if !chosen {
			stay = append(stay, pod)
			continue
		}
		count--
		m.surplus[m.countsAs(pod)]--
		if m.isUnderway(pod) {
			m.underway--
		}
		m.makeUnavailable(pod)
		m.terminated++
		m.deletions = append(m.deletions, Deletion{Pod: pod, Why: why})
	}
}

// terminateMarked takes away pods that somebody has marked for it, within the budget of unavailable pods. They are replaced, unless
// there are too many anyway.
func (m *mover) terminateMarked(allowed int) {
	m.terminate(allowed, func(pod *corev1.Pod) (Why, bool) {
		why := WhyMarked
		if m.left() > m.desired {
			why = WhySurplus
		}
		return why, podstate.IsMarked(pod) && (!m.available[pod] || len(m.available) > m.markedFloor())
	})
}

// replaceMarked lets pods come beside the marked ones, where no pod may be unavailable.
func (m *mover) replaceMarked(come creations) creations {
	if m.Manager.MaxUnavailable() > 0 {
		return come
	}
	marked := creations{}
	for _, pod := range m.active {
		switch kind := m.countsAs(pod); {
		case !podstate.IsMarked(pod) || !m.available[pod]:
		case kind != nil && kind == m.Old:
			marked.old++
		default:
			marked.updated++
		}
	}
	room := max(0, m.desired+m.Manager.MaxSurge()-m.left()-m.blockingTerminations()-come.old-come.updated)
	beside := max(0, m.left()+come.old+come.updated-m.desired) // these are there, or on their way
	if marked.old+marked.updated <= beside {
		return come
	}
	base := min(marked.old, room)
	come.old += base
	come.updated += min(marked.updated, room-base)
	return come
}

// terminateSurplus takes away the pods that are too many even for a rollout. While nothing may be moved, each kind keeps its part of
// the pods that stay; those that are not available go first, though.
func (m *mover) terminateSurplus(allowed int) {
	surplus := m.left() - m.desired - m.surge
	if surplus <= 0 {
		return
	}
	parts := m.parts(surplus)
	m.terminate(min(surplus, allowed), func(pod *corev1.Pod) (Why, bool) {
		kind := m.countsAs(pod)
		if m.Frozen == "" {
			return m.why(pod), m.canSpare(pod) && m.surplus[kind] > 0
		}
		if !m.canSpare(pod) || m.available[pod] && parts[kind] <= 0 {
			return "", false
		}
		parts[kind]--
		return m.why(pod), true
	})
}

// why tells people why the pod goes.
func (m *mover) why(pod *corev1.Pod) Why {
	switch kind := m.countsAs(pod); {
	case m.Frozen != "":
		return WhySurplus
	case kind == m.Revisions.Update && m.RolledBack:
		return WhyRolledBack
	case kind == m.Revisions.Update && m.missingOld() > 0:
		return WhyMovedBack
	case kind == m.Revisions.Update:
		return WhySurplus
	case kind != nil && len(m.UpdatedPods) == 0 && m.missingUpdated() == 0:
		return WhySurplus
	default:
		return WhyOutdated
	}
}

// creations is how many pods are to be made of each kind.
type creations struct{ updated, old int }

// refill replaces what is missing, and moves nothing. A pod that has finished may have been one beside the others.
func (m *mover) refill() creations {
	return m.withinSurge(creations{updated: m.missingUpdated(), old: m.missingOld()}, m.desired+min(m.surge, m.unreplaced))
}

// recreate takes away all pods of another revision, and lets others come only when the last of them is gone.
func (m *mover) recreate(terminating []*corev1.Pod) creations {
	to := m.Revisions.Update
	if m.Old != nil && m.wantOld > 0 {
		to = m.Old
	}
	if m.Frozen == "" {
		m.terminate(m.left(), func(pod *corev1.Pod) (Why, bool) { return m.why(pod), m.countsAs(pod) != to })
	}
	overlaps := func(pod *corev1.Pod) bool { return m.Revisions.HashOf(pod) != to.Hash && !podstate.IsFinished(pod) }
	if slices.ContainsFunc(m.active, overlaps) || slices.ContainsFunc(terminating, overlaps) ||
		slices.ContainsFunc(m.deletions, func(d Deletion) bool { return overlaps(d.Pod) }) {
		return creations{}
	}
	return m.refill()
}

// updateWhileCrowded updates pods in place while there are more than there may be, and those that are to go first do not: neither
// comes nor goes a pod by that.
func (m *mover) updateWhileCrowded() {
	if m.Frozen == "" && m.Manager.Strategy() == v1.RollingUpdateStrategy {
		inPlace, _ := m.outdatedPods()
		m.updateInPlace(inPlace, m.quota())
	}
}

// roll moves pods from one revision to the other, and returns what is to come.
func (m *mover) roll() creations {
	quota := m.quota()
	inPlace, replaced := m.outdatedPods()
	changed := map[*history.Revision]int{} // these need not come
	for _, pod := range inPlace {
		changed[m.target(pod)]++
	}
	wanted := creations{old: max(0, m.missingOld()-changed[m.Old]), updated: max(0, min(m.missingUpdated()-changed[m.Revisions.Update], quota))}
	missing := max(0, m.desired-m.left())
	quota -= m.updateInPlace(inPlace, quota-min(wanted.updated, missing))
	wanted.updated = min(wanted.updated, quota)
	if m.Manager.MaxUnavailable() == 0 {
		wanted.old = max(wanted.old, m.standIns(m.Old, changed, replaced))
		wanted.updated = max(wanted.updated, min(quota, m.standIns(m.Revisions.Update, changed, replaced)))
	}

	moved := wanted.old + wanted.updated - missing
	if m.held { // none of the present revision will come
		moved = wanted.old - missing
	}
	excess := max(0, m.left()-m.desired)
	m.terminate(excess+max(0, moved), func(pod *corev1.Pod) (Why, bool) {
		return m.why(pod), replaced[pod] && m.canSpare(pod)
	})
	return m.withinSurge(wanted, m.desired+m.surge)
}

// Deletion is a pod to delete, and why.
type Deletion struct {
	Pod *corev1.Pod
	Why Why
}

// Why is the reason for deleting a pod, as users read it in the event.
type Why string

// The reasons for deleting a pod.
const (
	WhySurplus  Why = "scaled down"
	WhyMarked   Why = "marked for deletion"
	WhyFinished Why = "no longer running"
	WhyFinalize Why = "the PodManager is being deleted"
	WhyLeftover Why = "its PodManager is gone, and another one has its name"
	// Rollouts.
	WhyOutdated   Why = "made from another template"
	WhyMovedBack  Why = "the partition was raised"
	WhyRolledBack Why = "the revision has failed"
)
