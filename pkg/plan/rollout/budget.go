package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// mover works out which active pods are to go or to be changed, and how many are to come.
//
// The limits: never more active pods than desired + surge; no available pod is taken away, or changed, unless more than
// floor are available; and no more updated pods at a time that have yet to become available than a rollout within these
// two limits can have. The last one matters when pods are missing for another reason: if somebody scales up while a bad
// revision is being rolled out, most of the new pods are made from the good one.
type mover struct {
	*State
	desired, surge, floor int
	// active are the pods to decide about, the least useful first.
	active []*corev1.Pod
	// taken is how many of them have been taken away while the others are looked at.
	terminated int
	// available are the pods that are, and go on to be; unsafe are those of them that their node may restart at any time.
	available, unsafe map[*corev1.Pod]bool
	// underway is how many updated pods have yet to become available, or to get all that their revision says.
	underway int
	// over is how many pods there are too many of each kind (see kind); below 0 are those that are yet to come.
	surplus map[*history.Revision]int
	// waitForGone tells that pods on their way out hold up their replacements; going is how many there are already.
	waitForTermination bool
	terminating        int
	// refused tells that the last pod of the present revision was refused, held that the next try has to wait.
	refused, held bool

	deletions []Deletion
	updates   []inplace.Update
	// changing are the pods that are drained, or wait for the end of that.
	updating map[*corev1.Pod]bool
	again    time.Duration
}

// MayTerminate is how many more pods may be sent away while some are still going.
func MayTerminate(manager *v1.PodManager, active, going int) int {
	limit := active + going
	if scaleDown := manager.Spec.ScaleDown; scaleDown != nil && scaleDown.MaxTerminating != nil {
		// The CRD lets only valid values in; anything else would be from before it did, and means no limit.
		if scaled, err := intstr.GetScaledValueFromIntOrPercent(scaleDown.MaxTerminating, active+going, true); err == nil {
			limit = max(1, scaled)
		}
	}
	return max(0, limit-going)
}

func newMoves(r *State) *mover {
	m := &mover{State: r, desired: r.Manager.DesiredReplicas(), unsafe: map[*corev1.Pod]bool{}, updating: map[*corev1.Pod]bool{}}
	m.active = slices.Concat(r.UpdatedPods, r.OldPods, r.StrayPods)
	m.available = make(map[*corev1.Pod]bool, len(m.active))
	m.surplus = map[*history.Revision]int{r.Old: len(r.OldPods) - r.wantOld}
	m.surplus[r.Revisions.Update] = len(r.UpdatedPods) - (m.desired - r.wantOld)
	m.surplus[nil] = len(r.StrayPods)
	if m.surplus[nil] > 0 || m.surplus[r.Old] > 0 || m.surplus[r.Revisions.Update] > 0 || slices.ContainsFunc(m.active, podstate.IsMarked) {
		// An update in place makes a pod ready anew, which says nothing about its age.
		m.active = podstate.RankForDeletion(m.active, r.Manager.PodUpdatePolicy() != v1.RecreatePods)
	} // else all of them stay, and their order does not matter
	away := m.standInsFirst()
	m.floor = m.desired - r.Manager.MaxUnavailable()
	for _, pod := range m.active {
		if health.IsAvailable(pod, r.Manager.MinReady(), r.Now) {
			m.available[pod] = true
			if inplace.MayRestart(pod) {
				m.unsafe[pod] = true
			}
		}
	}
	for _, pod := range r.UpdatedPods {
		if !m.available[pod] || inplace.IsUpdating(pod) {
			m.underway++
		}
	}
	outdated := away || len(r.StrayPods) > 0 || m.surplus[r.Old] > 0 || (m.missingOld() > 0 && m.surplus[r.Revisions.Update] > 0)
	if r.Frozen != "" {
		hasNew := len(r.UpdatedPods) > 0 || r.Frozen == v1.ReasonHalted && r.unreplaced > 0
		outdated = r.keepsSurge() && hasNew && len(r.OldPods)+len(r.StrayPods) > 0
	}
	if m.desired > 0 && (outdated || r.Manager.MaxUnavailable() == 0 && slices.ContainsFunc(m.active, podstate.IsMarked)) {
		m.surge = r.Manager.MaxSurge()
	}
	return m
}

// keepsSurge tells whether a rollout that does not go on keeps what it has beside the wanted pods: during a halt, which may be over
// at any time, and during a pause, until somebody scales down.
func (r *State) keepsSurge() bool {
	return r.Frozen == v1.ReasonHalted ||
		r.Frozen == v1.ReasonPaused && r.isFollowed() && r.Manager.DesiredReplicas() >= int(r.Manager.Status.Rollout.Replicas)
}

// missingUpdated and needBase are how many pods of each kind are yet to come.
func (m *mover) missingUpdated() int { return max(0, -m.surplus[m.Revisions.Update]) }

func (m *mover) missingOld() int { return max(0, -m.surplus[m.Old]) }

// left is how many of the active pods stay.
func (m *mover) left() int { return len(m.active) - m.terminated }

// isUnderway tells whether the pod is of the present revision and has yet to become available, or to get all of it.
func (m *mover) isUnderway(pod *corev1.Pod) bool {
	return m.countsAs(pod) == m.Revisions.Update && (!m.available[pod] || inplace.IsUpdating(pod))
}

// makeUnavailable takes a pod off those that are available.
func (m *mover) makeUnavailable(pod *corev1.Pod) {
	delete(m.available, pod)
	delete(m.unsafe, pod)
}

// canSpare tells whether the pod can be taken away, or changed, without hurting. One that is not available may yet become so,
// unless it is of the revision that has to prove itself; or it makes way for one of the good revision.
func (m *mover) canSpare(pod *corev1.Pod) bool {
	switch {
	case m.unsafe[pod]:
		return len(m.available) > m.floor
	case m.available[pod]:
		return len(m.available)-len(m.unsafe) > m.floor
	case m.countsAs(pod) == m.Revisions.Update:
		return true
	default:
		return m.left()-m.underway > m.floor || m.missingOld() > 0
	}
}

// markedFloor is how many pods have to stay available while marked ones are replaced. Strategies without limits of their own
// do it as a rolling update would by default.
func (m *mover) markedFloor() int {
	if m.Manager.Strategy() == v1.RollingUpdateStrategy {
		return m.floor
	}
	return m.desired - max(1, m.desired/4)
}

// blockingTerminations is how many pods on their way out hold up their replacements.
func (m *mover) blockingTerminations() int {
	if !m.waitForTermination {
		return 0
	}
	return m.terminating + len(m.deletions)
}

// parts is how many of the pods that are too many each kind has to give, in proportion to how many it has. What is left over by
// rounding is for the kind that is furthest above its part.
func (m *mover) parts(surplus int) map[*history.Revision]int {
	count, parts := map[*history.Revision]int{}, map[*history.Revision]int{}
	for _, pod := range m.active {
		count[m.countsAs(pod)]++
	}
	kinds := slices.Compact([]*history.Revision{nil, m.Old, m.Revisions.Update}) // in the same order every time
	left := surplus
	for _, kind := range kinds {
		parts[kind] = surplus * count[kind] / m.left()
		left -= parts[kind]
	}
	above := func(kind *history.Revision) int { return surplus*count[kind] - parts[kind]*m.left() }
	for ; left > 0; left-- {
		parts[slices.MaxFunc(kinds, func(a, b *history.Revision) int { return above(a) - above(b) })]++
	}
	return parts
}

// quota is how many more updated pods may be on their way. After a refusal, one is enough to find out.
func (m *mover) quota() int {
	if !m.isProtecting() {
		return m.desired
	}
	quota := m.Manager.MaxSurge() + m.Manager.MaxUnavailable() - m.underway
	if m.refused {
		quota = min(quota, 1)
	}
	return max(0, quota)
}

// isProtecting tells whether pods of the good revision are to be kept from being replaced by too many that have yet to
// prove themselves. Where none runs any more, the present revision starts from the beginning.
func (m *mover) isProtecting() bool {
	return m.Old != nil && (len(m.OldPods)+len(m.StrayPods)+len(m.FailingPods) > 0 || m.refused)
}

// withinSurge keeps what is to come within the limit, and completes it from base.
func (m *mover) withinSurge(wanted creations, limit int) creations {
	there := m.left() + m.blockingTerminations()
	base := min(wanted.old, max(0, limit-there))
	come := creations{old: base, updated: min(wanted.updated, max(0, limit-there-base))}
	if m.isProtecting() {
		come.old += m.completeFromOld(there, come)
	}
	return come
}

// completeFromOld is how many more pods are to be made from base: where the present revision may not, and where it does not get
// available, so that pods which serve are replaced even if there are enough that do not. While the present revision is
// refused, the places that a rollout may leave empty stay so: they are where the next try goes.
func (m *mover) completeFromOld(there int, come creations) int {
	atLeast, coming := m.desired, come.old+come.updated
	if m.refused {
		atLeast = m.floor
	}
	if m.held {
		coming = come.old
	}
	missing := max(atLeast-there-coming, m.floor-(there-m.underway)-come.old)
	return max(0, min(missing, m.desired+m.surge-there-coming))
}
