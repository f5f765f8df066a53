package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// PodActions are the pods to delete, to update in place and to create.
type PodActions struct {
	Delete []Deletion
	Update []inplace.Update
	// CreateOld and CreateUpdated are how many pods of the old and of the new revision to create.
	CreateOld, CreateUpdated int
	// Held is set if pods of the new revision are missing, and are not created before the backoff after a refusal is over.
	Blocked bool
	// Again is the time until the grace period of a drained pod is over. Retry is the time until a refused update in place may be retried. Both are
	// zero if no pod waits.
	Again, Retry time.Duration
}

// Decide decides which active pods to delete or to update in place, and how many to create. refused is whether the API server refused the last pod
// of the new revision, or a revision that has to be stored first, and blocked whether the backoff after the refusal is not over.
func Decide(r *State, terminating []*corev1.Pod, refused, blocked bool) PodActions {
	m := newRollingPlan(r)
	m.refused, m.blocked = refused, blocked
	if r.Manager.Spec.PodReplacementPolicy == v1.TerminationComplete {
		m.waitForTermination, m.terminating = true, len(terminating)
	}
	create := m.decide(terminating)
	return PodActions{
		Delete: m.deletions, Update: slices.Concat(m.updates, m.restorations(), m.openings()),
		CreateOld: create.old, CreateUpdated: create.updated, Blocked: m.blocked && m.missingUpdated() > 0, Again: m.again, Retry: r.untilRetry(),
	}
}

func (m *rollingPlan) decide(terminating []*corev1.Pod) creations {
	if m.Frozen == v1.ReasonRollingOut && (!m.blocked || m.Old.IsStored()) {
		// The old pods, which show that the old revision is good, stay until the status names it as the current one. It does not if the revision cannot
		// be stored.
		return m.createMissing()
	}
	allowed := MayTerminate(m.Manager, m.remaining(), len(terminating))
	m.terminateMarked(allowed)
	m.terminateSurplus(allowed - len(m.deletions))
	switch {
	case m.remaining() > m.Desired+m.surge:
		m.updateInPlaceAboveSurge()
		return creations{} // deletions come first
	case m.IsUnstarted():
		return creations{}
	case m.Manager.Strategy() == v1.RecreateStrategy:
		return m.recreate(terminating)
	case m.Frozen != "":
		return m.surgeForMarked(m.createMissing())
	default:
		return m.surgeForMarked(m.rollingUpdate(allowed))
	}
}

// terminate deletes at most count pods for which choose returns true.
func (m *rollingPlan) terminate(count int, choose func(pod *corev1.Pod) (Why, bool)) {
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
		if m.surplus[m.sideOf(pod)]--; m.surplus[oldSide] < 0 && m.Old == nil { // no replacement can be created on the old side
			m.surplus[oldSide]++
			m.surplus[newSide]--
		}
		if m.isUnavailableUpdated(pod) {
			m.unavailableUpdated--
		}
		m.makeUnavailable(pod)
		m.terminated++
		m.deletions = append(m.deletions, Deletion{Pod: pod, Why: why})
	}
}

// terminateMarked deletes pods that a user has marked for deletion, within maxUnavailable. They are replaced unless there are more pods than
// desired.
func (m *rollingPlan) terminateMarked(allowed int) {
	m.terminate(allowed, func(pod *corev1.Pod) (Why, bool) {
		return WhyMarked, podstate.IsMarked(pod) && (!m.available[pod] || len(m.available) > m.MinAvailableForMarked)
	})
}

// surgeForMarked adds surge pods for the pods that are marked for deletion, if no pod may be unavailable.
func (m *rollingPlan) surgeForMarked(create creations) creations {
	if m.MaxUnavailable > 0 {
		return create
	}
	marked := creations{}
	for _, pod := range m.active {
		switch {
		case !podstate.IsMarked(pod) || !m.available[pod]:
		case m.sideOf(pod) == oldSide && m.Old != nil:
			marked.old++
		default:
			marked.updated++
		}
	}
	unusedSurge := max(0, m.Desired+m.MaxSurge-m.remaining()-m.blockingTerminations()-create.old-create.updated)
	surgePods := max(0, m.remaining()+create.old+create.updated-m.Desired) // existing or planned
	if marked.old+marked.updated <= surgePods {
		return create
	}
	old := min(marked.old, unusedSurge)
	create.old += old
	create.updated += min(marked.updated, unusedSurge-old)
	return create
}

// terminateSurplus deletes the pods above desired + surge. While the rollout is frozen, each side gives up its share of available pods. Unavailable
// pods are deleted regardless of their side's share.
func (m *rollingPlan) terminateSurplus(allowed int) {
	excess := m.remaining() - m.Desired - m.surge
	if excess <= 0 {
		return
	}
	if m.Frozen == v1.ReasonNotInPlace {
		for _, goesFirst := range m.firstIfNotInPlace() {
			before := len(m.deletions)
			m.terminate(min(excess, allowed), func(pod *corev1.Pod) (Why, bool) { return WhySurplus, m.mayTakeDown(pod) && goesFirst(pod) })
			excess, allowed = excess-(len(m.deletions)-before), allowed-(len(m.deletions)-before)
		}
		if excess == 0 {
			return
		}
	}
	shares := m.shares(excess)
	m.terminate(min(excess, allowed), func(pod *corev1.Pod) (Why, bool) {
		side := m.sideOf(pod)
		if m.Frozen == "" {
			return m.why(pod), m.mayTakeDown(pod) && m.surplus[side] > 0
		}
		if !m.mayTakeDown(pod) || m.available[pod] && shares[side] <= 0 {
			return "", false
		}
		shares[side]--
		return m.why(pod), true
	})
}

// firstIfNotInPlace returns which surplus pods go first, in this order, while pods that cannot be updated in place stall the rollout. Pods of an
// unknown revision do. Then pods that cannot be updated, unless surge pods were created for updates in place: if those stayed, they would replace the
// others, which InPlaceOnly forbids.
func (m *rollingPlan) firstIfNotInPlace() []func(pod *corev1.Pod) bool {
	cannotBeUpdated := func(pod *corev1.Pod) bool {
		return m.sideOf(pod) != newSide && m.WhyNotInPlace(pod, m.Revisions.Update) != ""
	}
	isUnknown := func(pod *corev1.Pod) bool {
		return (m.revisionOf(pod) == nil || podstate.IsUnmanaged(pod)) && cannotBeUpdated(pod)
	}
	if m.MaxUnavailable == 0 {
		return []func(pod *corev1.Pod) bool{isUnknown, m.isSurgePod}
	}
	return []func(pod *corev1.Pod) bool{isUnknown, cannotBeUpdated}
}

// why returns the reason that the event gives for the deletion of the pod.
func (m *rollingPlan) why(pod *corev1.Pod) Why {
	switch side := m.sideOf(pod); {
	case m.Frozen != "":
		return WhySurplus
	case side == newSide && m.RolledBack:
		return WhyRolledBack
	case side == newSide && m.missingOld() > 0:
		return WhyMovedBack
	case side == newSide:
		return WhySurplus
	case side == oldSide && len(m.UpdatedPods) == 0 && m.missingUpdated() == 0:
		return WhySurplus
	default:
		return WhyOutdated
	}
}

// creations is how many pods to create of the new revision and for the old side.
type creations struct{ updated, old int }

// createMissing creates missing pods and moves none to another revision. Its limit includes the surge for finished pods that have not been
// replaced, because they may have been surge pods.
func (m *rollingPlan) createMissing() creations {
	return m.enforceMaxSurge(creations{updated: m.missingUpdated(), old: m.missingOld()}, m.Desired+min(m.surge, m.unreplaced))
}

// recreate deletes all pods of other revisions, and creates pods only when the last of them is gone.
func (m *rollingPlan) recreate(terminating []*corev1.Pod) creations {
	stays := newSide
	if m.Old != nil && m.desiredOld > 0 {
		stays = oldSide
	}
	if m.Frozen == "" {
		m.terminate(m.remaining(), func(pod *corev1.Pod) (Why, bool) { return m.why(pod), m.sideOf(pod) != stays })
	}
	to := m.revisionAt(stays)
	overlaps := func(pod *corev1.Pod) bool { return m.Revisions.HashOf(pod) != to.Hash && !podstate.IsFinished(pod) }
	if slices.ContainsFunc(m.active, overlaps) || slices.ContainsFunc(terminating, overlaps) ||
		slices.ContainsFunc(m.deletions, func(d Deletion) bool { return overlaps(d.Pod) }) {
		return creations{}
	}
	return m.createMissing()
}

// updateInPlaceAboveSurge updates pods in place while there are still more than desired + surge pods, because other limits delay deletions. An
// update in place neither adds nor removes a pod.
func (m *rollingPlan) updateInPlaceAboveSurge() {
	if m.Frozen == "" && m.Manager.Strategy() == v1.RollingUpdateStrategy {
		inPlace, _ := m.outdatedPods()
		m.updateInPlace(inPlace, m.quota())
	}
}

// rollingUpdate moves pods from one revision to the other: it plans updates in place and deletions, and returns the creations. allowed is how many pods
// a scale-down may delete.
func (m *rollingPlan) rollingUpdate(allowed int) creations {
	quota := m.quota()
	inPlace, replaced := m.outdatedPods()
	gained := map[side]int{} // pods that each side gains by updates in place, which need not be created
	for _, pod := range inPlace {
		gained[m.target(pod)]++
	}
	wanted := creations{old: max(0, m.missingOld()-gained[oldSide]), updated: max(0, min(m.missingUpdated()-gained[newSide], quota))}
	missing := max(0, m.Desired-m.remaining())
	quota -= m.updateInPlace(inPlace, quota-min(wanted.updated, missing))
	wanted.updated = min(wanted.updated, quota)
	if m.MaxUnavailable == 0 {
		wanted.old = max(wanted.old, m.missingSurgePods(oldSide, gained, replaced))
		wanted.updated = max(wanted.updated, min(quota, m.missingSurgePods(newSide, gained, replaced)))
	}

	replacements := wanted.old + wanted.updated - missing
	if m.blocked { // no pod of the new revision will be created
		replacements = wanted.old - missing
	}
	excess := max(0, m.remaining()-m.Desired)
	m.terminate(excess+max(0, replacements), func(pod *corev1.Pod) (Why, bool) {
		why := m.why(pod)
		return why, replaced[pod] && m.mayTakeDown(pod) && (why != WhySurplus || len(m.deletions) < allowed)
	})
	return m.enforceMaxSurge(wanted, m.Desired+m.surge)
}

// Deletion is a pod to delete, and the reason.
type Deletion struct {
	Pod *corev1.Pod
	Why Why
	// Force is set if the pod is deleted without waiting for its kubelet.
	Force bool
}

// Why is the reason for deleting a pod. Users read it in the event.
type Why string

// The reasons for deleting a pod.
const (
	WhySurplus  Why = "surplus"
	WhyMarked   Why = "marked for deletion"
	WhyFinished Why = "no longer running"
	WhyFinalize Why = "the PodManager is being deleted"
	WhyNodeLost Why = "on a lost node"
	WhyTooOld   Why = "due for replacement by maxPodAgeSeconds"
	WhyLeftover Why = "left over from a deleted PodManager of the same name"
	// Rollouts.
	WhyOutdated   Why = "made from another template"
	WhyMovedBack  Why = "the partition was raised"
	WhyRolledBack Why = "the revision has failed"
)

// IsRollout reports whether a pod is deleted to be replaced by one of another revision.
func (w Why) IsRollout() bool { return w == WhyOutdated || w == WhyMovedBack || w == WhyRolledBack }
