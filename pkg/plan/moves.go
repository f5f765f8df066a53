package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// moves works out which active pods are to go or to be changed, and how many are to come.
//
// The limits: never more active pods than desired + surge; no available pod is taken away, or changed, unless more than
// floor are available; and no more updated pods at a time that have yet to become available than a rollout within these
// two limits can have. The last one matters when pods are missing for another reason: if somebody scales up while a bad
// revision is being rolled out, most of the new pods are made from the good one.
type moves struct {
	*rollout
	desired, surge, floor int
	// active are the pods to decide about, the least useful first.
	active []*corev1.Pod
	// taken is how many of them have been taken away while the others are looked at.
	taken int
	// available are the pods that are, and go on to be; unsafe are those of them that their node may restart at any time.
	available, unsafe map[*corev1.Pod]bool
	// underway is how many updated pods have yet to become available, or to get all that their revision says.
	underway int
	// over is how many pods there are too many of each kind (see kind); below 0 are those that are yet to come.
	over map[*Revision]int
	// waitForGone tells that pods on their way out hold up their replacements; going is how many there are already.
	waitForGone bool
	going       int
	// refused tells that the last pod of the present revision was refused, held that the next try has to wait.
	refused, held bool

	deletions []Deletion
	changes   []InPlace
	// changing are the pods that are drained, or wait for the end of that.
	changing map[*corev1.Pod]bool
	again    time.Duration
}

// Moves is what is to be done about the active pods.
type Moves struct {
	Delete []Deletion
	Change []InPlace
	// CreateOld and CreateUpdated are how many pods are to be created of the old revision and of the present one.
	CreateOld, CreateUpdated int
	// Held tells that pods of the present revision are missing, and not created because the last one was refused a moment ago.
	Held bool
	// Again is how long it is until a pod has been drained for long enough; zero if none is.
	Again time.Duration
}

// decideMoves decides which active pods go or change, and how many come. refused tells that the last pod of the present revision was
// refused, held that the next try has to wait.
func decideMoves(r *rollout, terminating []*corev1.Pod, refused, held bool) Moves {
	m := newMoves(r)
	m.refused, m.held = refused, held
	if r.manager.Spec.PodReplacementPolicy == v1.TerminationComplete {
		m.waitForGone, m.going = true, len(terminating)
	}
	come := m.decide(terminating)
	return Moves{
		Delete: m.deletions, Change: slices.Concat(m.changes, m.restorations(), m.openings()),
		CreateOld: come.base, CreateUpdated: come.updated, Held: m.held && m.needUpdated() > 0, Again: m.again,
	}
}

func (m *moves) decide(terminating []*corev1.Pod) comes {
	allowed := allowance(m.manager, m.left(), len(terminating))
	m.takeMarked(allowed)
	m.takeSurplus(allowed - len(m.deletions))
	switch {
	case m.left() > m.desired+m.surge:
		m.changeWhileCrowded()
		return comes{} // first things first
	case m.isUnstarted():
		return comes{}
	case m.manager.Strategy() == v1.RecreateStrategy:
		return m.recreate(terminating)
	case m.frozen != "":
		return m.replaceMarked(m.refill())
	default:
		return m.replaceMarked(m.roll())
	}
}

// allowance is how many more pods may be sent away while some are still going.
func allowance(manager *v1.PodManager, active, going int) int {
	limit := active + going
	if scaleDown := manager.Spec.ScaleDown; scaleDown != nil && scaleDown.MaxTerminating != nil {
		// The CRD lets only valid values in; anything else would be from before it did, and means no limit.
		if scaled, err := intstr.GetScaledValueFromIntOrPercent(scaleDown.MaxTerminating, active+going, true); err == nil {
			limit = max(1, scaled)
		}
	}
	return max(0, limit-going)
}

func newMoves(r *rollout) *moves {
	m := &moves{rollout: r, desired: r.manager.DesiredReplicas(), unsafe: map[*corev1.Pod]bool{}, changing: map[*corev1.Pod]bool{}}
	m.active = slices.Concat(r.updated, r.based, r.strays)
	m.available = make(map[*corev1.Pod]bool, len(m.active))
	m.over = map[*Revision]int{r.base: len(r.based) - r.wantBase}
	m.over[r.revisions.Update] = len(r.updated) - (m.desired - r.wantBase)
	m.over[nil] = len(r.strays)
	if m.over[nil] > 0 || m.over[r.base] > 0 || m.over[r.revisions.Update] > 0 || slices.ContainsFunc(m.active, isMarked) {
		// A change in place makes a pod ready anew, which says nothing about its age.
		m.active = rank(m.active, r.manager.PodUpdatePolicy() != v1.RecreatePods)
	} // else all of them stay, and their order does not matter
	away := m.standInsFirst()
	m.floor = m.desired - r.manager.MaxUnavailable()
	for _, pod := range m.active {
		if isAvailable(pod, r.manager.MinReady(), r.now) {
			m.available[pod] = true
			if mayRestart(pod) {
				m.unsafe[pod] = true
			}
		}
	}
	for _, pod := range r.updated {
		if !m.available[pod] || isChanging(pod) {
			m.underway++
		}
	}
	outdated := away || len(r.strays) > 0 || m.over[r.base] > 0 || (m.needBase() > 0 && m.over[r.revisions.Update] > 0)
	if r.frozen != "" {
		hasNew := len(r.updated) > 0 || r.frozen == v1.ReasonHalted && r.unfilled > 0
		outdated = r.keepsSurge() && hasNew && len(r.based)+len(r.strays) > 0
	}
	if m.desired > 0 && (outdated || r.manager.MaxUnavailable() == 0 && slices.ContainsFunc(m.active, isMarked)) {
		m.surge = r.manager.MaxSurge()
	}
	return m
}

// keepsSurge tells whether a rollout that does not go on keeps what it has beside the wanted pods: during a halt, which may be over
// at any time, and during a pause, until somebody scales down.
func (r *rollout) keepsSurge() bool {
	return r.frozen == v1.ReasonHalted ||
		r.frozen == v1.ReasonPaused && r.isFollowed() && r.manager.DesiredReplicas() >= int(r.manager.Status.Rollout.Replicas)
}

// needUpdated and needBase are how many pods of each kind are yet to come.
func (m *moves) needUpdated() int { return max(0, -m.over[m.revisions.Update]) }
func (m *moves) needBase() int    { return max(0, -m.over[m.base]) }

// left is how many of the active pods stay.
func (m *moves) left() int { return len(m.active) - m.taken }

// isUnderway tells whether the pod is of the present revision and has yet to become available, or to get all of it.
func (m *moves) isUnderway(pod *corev1.Pod) bool {
	return m.kind(pod) == m.revisions.Update && (!m.available[pod] || isChanging(pod))
}

// spend takes a pod off those that are available.
func (m *moves) spend(pod *corev1.Pod) {
	delete(m.available, pod)
	delete(m.unsafe, pod)
}

// spare tells whether the pod can be taken away, or changed, without hurting. One that is not available may yet become so,
// unless it is of the revision that has to prove itself; or it makes way for one of the good revision.
func (m *moves) spare(pod *corev1.Pod) bool {
	switch {
	case m.unsafe[pod]:
		return len(m.available) > m.floor
	case m.available[pod]:
		return len(m.available)-len(m.unsafe) > m.floor
	case m.kind(pod) == m.revisions.Update:
		return true
	default:
		return m.left()-m.underway > m.floor || m.needBase() > 0
	}
}

// take takes away the pods that the choice falls on, at most count.
func (m *moves) take(count int, choose func(pod *corev1.Pod) (Why, bool)) {
	stay := make([]*corev1.Pod, 0, len(m.active))
	defer func() { m.active, m.taken = stay, 0 }()
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
		m.over[m.kind(pod)]--
		if m.isUnderway(pod) {
			m.underway--
		}
		m.spend(pod)
		m.taken++
		m.deletions = append(m.deletions, Deletion{Pod: pod, Why: why})
	}
}

// takeMarked takes away pods that somebody has marked for it, within the budget of unavailable pods. They are replaced, unless
// there are too many anyway.
func (m *moves) takeMarked(allowed int) {
	m.take(allowed, func(pod *corev1.Pod) (Why, bool) {
		why := WhyMarked
		if m.left() > m.desired {
			why = WhySurplus
		}
		return why, isMarked(pod) && (!m.available[pod] || len(m.available) > m.markedFloor())
	})
}

// markedFloor is how many pods have to stay available while marked ones are replaced. Strategies without limits of their own
// do it as a rolling update would by default.
func (m *moves) markedFloor() int {
	if m.manager.Strategy() == v1.RollingUpdateStrategy {
		return m.floor
	}
	return m.desired - max(1, m.desired/4)
}

// replaceMarked lets pods come beside the marked ones, where no pod may be unavailable.
func (m *moves) replaceMarked(come comes) comes {
	if m.manager.MaxUnavailable() > 0 {
		return come
	}
	marked := comes{}
	for _, pod := range m.active {
		switch kind := m.kind(pod); {
		case !isMarked(pod) || !m.available[pod]:
		case kind != nil && kind == m.base:
			marked.base++
		default:
			marked.updated++
		}
	}
	room := max(0, m.desired+m.manager.MaxSurge()-m.left()-m.goneYet()-come.base-come.updated)
	beside := max(0, m.left()+come.base+come.updated-m.desired) // these are there, or on their way
	if marked.base+marked.updated <= beside {
		return come
	}
	base := min(marked.base, room)
	come.base += base
	come.updated += min(marked.updated, room-base)
	return come
}

// goneYet is how many pods on their way out hold up their replacements.
func (m *moves) goneYet() int {
	if !m.waitForGone {
		return 0
	}
	return m.going + len(m.deletions)
}

// takeSurplus takes away the pods that are too many even for a rollout. While nothing may be moved, each kind keeps its part of
// the pods that stay; those that are not available go first, though.
func (m *moves) takeSurplus(allowed int) {
	surplus := m.left() - m.desired - m.surge
	if surplus <= 0 {
		return
	}
	parts := m.parts(surplus)
	m.take(min(surplus, allowed), func(pod *corev1.Pod) (Why, bool) {
		kind := m.kind(pod)
		if m.frozen == "" {
			return m.why(pod), m.spare(pod) && m.over[kind] > 0
		}
		if !m.spare(pod) || m.available[pod] && parts[kind] <= 0 {
			return "", false
		}
		parts[kind]--
		return m.why(pod), true
	})
}

// parts is how many of the pods that are too many each kind has to give, in proportion to how many it has. What is left over by
// rounding is for the kind that is furthest above its part.
func (m *moves) parts(surplus int) map[*Revision]int {
	count, parts := map[*Revision]int{}, map[*Revision]int{}
	for _, pod := range m.active {
		count[m.kind(pod)]++
	}
	kinds := slices.Compact([]*Revision{nil, m.base, m.revisions.Update}) // in the same order every time
	left := surplus
	for _, kind := range kinds {
		parts[kind] = surplus * count[kind] / m.left()
		left -= parts[kind]
	}
	above := func(kind *Revision) int { return surplus*count[kind] - parts[kind]*m.left() }
	for ; left > 0; left-- {
		parts[slices.MaxFunc(kinds, func(a, b *Revision) int { return above(a) - above(b) })]++
	}
	return parts
}

// why tells people why the pod goes.
func (m *moves) why(pod *corev1.Pod) Why {
	switch kind := m.kind(pod); {
	case m.frozen != "":
		return WhySurplus
	case kind == m.revisions.Update && m.rolledBack:
		return WhyRolledBack
	case kind == m.revisions.Update && m.needBase() > 0:
		return WhyMovedBack
	case kind == m.revisions.Update:
		return WhySurplus
	case kind != nil && len(m.updated) == 0 && m.needUpdated() == 0:
		return WhySurplus
	default:
		return WhyOutdated
	}
}

// comes is how many pods are to be made of each kind.
type comes struct{ updated, base int }

// refill replaces what is missing, and moves nothing. A pod that has ended may have been one beside the others.
func (m *moves) refill() comes {
	return m.within(comes{updated: m.needUpdated(), base: m.needBase()}, m.desired+min(m.surge, m.unfilled))
}

// recreate takes away all pods of another revision, and lets others come only when the last of them is gone.
func (m *moves) recreate(ending []*corev1.Pod) comes {
	to := m.revisions.Update
	if m.base != nil && m.wantBase > 0 {
		to = m.base
	}
	if m.frozen == "" {
		m.take(m.left(), func(pod *corev1.Pod) (Why, bool) { return m.why(pod), m.kind(pod) != to })
	}
	overlaps := func(pod *corev1.Pod) bool { return m.revisions.hashOf(pod) != to.Hash && !hasEnded(pod) }
	if slices.ContainsFunc(m.active, overlaps) || slices.ContainsFunc(ending, overlaps) ||
		slices.ContainsFunc(m.deletions, func(d Deletion) bool { return overlaps(d.Pod) }) {
		return comes{}
	}
	return m.refill()
}

// changeWhileCrowded changes pods in place while there are more than there may be, and those that are to go first do not: neither
// comes nor goes a pod by that.
func (m *moves) changeWhileCrowded() {
	if m.frozen == "" && m.manager.Strategy() == v1.RollingUpdateStrategy {
		inPlace, _ := m.outdatedPods()
		m.changeInPlace(inPlace, m.quota())
	}
}

// roll moves pods from one revision to the other, and returns what is to come.
func (m *moves) roll() comes {
	quota := m.quota()
	inPlace, replaced := m.outdatedPods()
	changed := map[*Revision]int{} // these need not come
	for _, pod := range inPlace {
		changed[m.target(pod)]++
	}
	wanted := comes{base: max(0, m.needBase()-changed[m.base]), updated: max(0, min(m.needUpdated()-changed[m.revisions.Update], quota))}
	missing := max(0, m.desired-m.left())
	quota -= m.changeInPlace(inPlace, quota-min(wanted.updated, missing))
	wanted.updated = min(wanted.updated, quota)
	if m.manager.MaxUnavailable() == 0 {
		wanted.base = max(wanted.base, m.helpers(m.base, changed, replaced))
		wanted.updated = max(wanted.updated, min(quota, m.helpers(m.revisions.Update, changed, replaced)))
	}

	moved := wanted.base + wanted.updated - missing
	if m.held { // none of the present revision will come
		moved = wanted.base - missing
	}
	excess := max(0, m.left()-m.desired)
	m.take(excess+max(0, moved), func(pod *corev1.Pod) (Why, bool) {
		return m.why(pod), replaced[pod] && m.spare(pod)
	})
	return m.within(wanted, m.desired+m.surge)
}

// quota is how many more updated pods may be on their way. After a refusal, one is enough to find out.
func (m *moves) quota() int {
	if !m.isProtecting() {
		return m.desired
	}
	quota := m.manager.MaxSurge() + m.manager.MaxUnavailable() - m.underway
	if m.refused {
		quota = min(quota, 1)
	}
	return max(0, quota)
}

// isProtecting tells whether pods of the good revision are to be kept from being replaced by too many that have yet to
// prove themselves. Where none runs any more, the present revision starts from the beginning.
func (m *moves) isProtecting() bool {
	return m.base != nil && (len(m.based)+len(m.strays)+len(m.failing) > 0 || m.refused)
}

// within keeps what is to come within the limit, and completes it from base.
func (m *moves) within(wanted comes, limit int) comes {
	there := m.left() + m.goneYet()
	base := min(wanted.base, max(0, limit-there))
	come := comes{base: base, updated: min(wanted.updated, max(0, limit-there-base))}
	if m.isProtecting() {
		come.base += m.complete(there, come)
	}
	return come
}

// complete is how many more pods are to be made from base: where the present revision may not, and where it does not get
// available, so that pods which serve are replaced even if there are enough that do not. While the present revision is
// refused, the places that a rollout may leave empty stay so: they are where the next try goes.
func (m *moves) complete(there int, come comes) int {
	atLeast, coming := m.desired, come.base+come.updated
	if m.refused {
		atLeast = m.floor
	}
	if m.held {
		coming = come.base
	}
	missing := max(atLeast-there-coming, m.floor-(there-m.underway)-come.base)
	return max(0, min(missing, m.desired+m.surge-there-coming))
}
