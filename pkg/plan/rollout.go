package plan

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// rollout is how the pods stand to the revisions, and where they are to go.
type rollout struct {
	manager   *v1.PodManager
	revisions Revisions
	now       time.Time
	// base is the revision that the pods come from, or return to; nil if there is none besides the present one.
	base *Revision
	// updated and based are the active pods of the present revision and of base, strays those of any other.
	updated, based, strays []*corev1.Pod
	// wantBase is how many pods are to be of base; the others are to be updated.
	wantBase int
	// frozen is the reason why no pod is moved from one revision to the other; empty if they are.
	frozen string
	// rolledBack tells that the present revision has failed, and all pods are to return to base.
	rolledBack bool
	// failing are the pods of the present revision that have failed and not recovered; judged is what is remembered of them, and
	// of those that have recovered a moment ago.
	failing []*corev1.Pod
	judged  map[types.UID]judgement
	// unfilled is how many pods of the present revision have failed for good and not been replaced.
	unfilled int
	// obstacle is why pods cannot be changed in place although nothing else is allowed.
	obstacle string
	// compared is what was found out about two revisions, see change.
	compared map[[2]*Revision]comparison
}

// comparison is what a change in place from one revision to another does, or why it cannot be done.
type comparison struct {
	change Change
	whyNot string
}

// assess looks at active pods, and at those that have ended.
func assess(manager *v1.PodManager, revisions Revisions, active, ended []*corev1.Pod, now time.Time) *rollout {
	r := &rollout{manager: manager, revisions: revisions, now: now, compared: map[[2]*Revision]comparison{}, judged: map[types.UID]judgement{}}
	r.base = r.findBase(active)
	for _, pod := range active {
		switch r.kind(pod) {
		case nil:
			r.strays = append(r.strays, pod)
		case r.base:
			r.based = append(r.based, pod)
		default:
			r.updated = append(r.updated, pod)
		}
	}
	r.rolledBack = manager.Status.FailedRevision == revisions.Update.Name && manager.OnFailure() != v1.ContinueOnFailure &&
		(revisions.Current == nil || revisions.Current.Name != revisions.Update.Name)
	if r.isRolling() {
		r.findFailing(ended)
	}
	r.obstacle = r.findObstacle()
	r.frozen = r.findFrozen()
	r.wantBase = r.findWantBase()
	return r
}

// kind is the revision that an active pod counts for: the present one, or base; nil for a stray.
func (r *rollout) kind(pod *corev1.Pod) *Revision {
	switch hash := r.revisions.hashOf(pod); {
	case hash == r.revisions.Update.Hash && !r.mustReplace(pod):
		return r.revisions.Update
	case r.base != nil && hash == r.base.Hash:
		return r.base
	default:
		return nil
	}
}

// isRolling tells whether a revision is on its way to become the current one.
func (r *rollout) isRolling() bool {
	return !r.rolledBack && (r.revisions.Current == nil || r.revisions.Current.Name != r.revisions.Update.Name)
}

// findBase finds where the pods come from: the last good revision, or else the newest that a pod has.
func (r *rollout) findBase(active []*corev1.Pod) *Revision {
	if current := r.revisions.Current; current != nil {
		if current.Name == r.revisions.Update.Name {
			return nil
		}
		return current
	}
	var newest *Revision
	for _, pod := range active {
		revision := r.revisions.others[r.revisions.hashOf(pod)]
		if revision == nil || revision.Name == r.revisions.Update.Name || revision.Template() == nil {
			continue
		}
		if newest == nil || revision.number() > newest.number() {
			newest = revision
		}
	}
	return newest
}

// mustReplace tells that the pod has the present revision in name only: its node cannot give it what that asks for.
func (r *rollout) mustReplace(pod *corev1.Pod) bool {
	return isInfeasible(pod) && r.manager.PodUpdatePolicy() == v1.InPlaceIfPossible
}

// findFailing finds the pods of the present revision that have failed. One that has ended cannot recover: it counts until
// it is replaced, or was long ago, or no more pods are to be updated. One that its node has stopped does not count.
func (r *rollout) findFailing(ended []*corev1.Pod) {
	for _, pod := range r.updated {
		judged, found := r.judge(pod)
		if !found {
			continue
		}
		if r.judged[pod.UID] = judged; !judged.Recovered {
			r.failing = append(r.failing, pod)
		}
	}
	retries := r.retries(ended)
	complete := len(r.updated) >= r.manager.DesiredReplicas()-r.manager.Partition()
	for _, retry := range slices.Concat(retries.waiting, retries.due) {
		r.unfilled++
		if !complete && isOwnEnd(retry.Pod) && untilForgotten(retry.Pod, r.now) > 0 {
			r.failing, r.judged[retry.Pod.UID] = append(r.failing, retry.Pod), r.judgeEnded(retry.Pod)
		}
	}
}

// isHalted tells whether so many pods fail that no further one is to be updated. Where there are no others, there is nothing
// to be gained by that.
func (r *rollout) isHalted() bool {
	return (r.base != nil || len(r.strays) > 0) && len(r.failing) >= r.manager.MaxFailedPods() && r.manager.OnFailure() != v1.ContinueOnFailure
}

// findFrozen tells why no pod is moved from one revision to the other, if none is.
func (r *rollout) findFrozen() string {
	switch {
	case r.manager.Spec.Paused:
		return v1.ReasonPaused
	case r.rolledBack && r.base == nil:
		return v1.ReasonRolledBack // what there was to return to is not known any more
	case r.manager.Strategy() == v1.OnDeleteStrategy:
		return v1.ReasonUpdateOnDelete
	case r.isHalted() && r.manager.Strategy() != v1.RecreateStrategy && len(r.based) >= r.manager.Partition():
		// Recreate has nothing to hold back, and moving back is what helps.
		return v1.ReasonHalted
	case r.obstacle != "":
		return v1.ReasonNotInPlace
	default:
		return ""
	}
}

// findObstacle tells why the rollout is refused, if pods may only be changed in place and cannot be.
func (r *rollout) findObstacle() string {
	if r.manager.PodUpdatePolicy() != v1.InPlaceOnly {
		return ""
	}
	if r.rolledBack {
		return r.findObstacleBack(slices.Concat(r.updated, r.strays))
	}
	for _, pod := range r.updated {
		if isInfeasible(pod) {
			return pod.Name + ": " + oneLine("Infeasible", condition(pod, corev1.PodResizePending).Message)
		}
	}
	moved := r.strays
	if r.base == nil || len(r.based) > r.manager.Partition() { // the others may stay as they are
		moved = slices.Concat(r.based, r.strays)
	}
	for _, pod := range moved {
		if why := r.notInPlace(pod, r.revisions.Update); why != "" {
			return pod.Name + ": " + why
		}
	}
	if len(r.based)+r.missing() >= r.manager.Partition() || len(r.updated) <= r.due() {
		return ""
	}
	return r.findObstacleBack(r.updated)
}

// findObstacleBack is the same for pods that are to return to base. Those that can do so, whatever is in the way of others.
func (r *rollout) findObstacleBack(pods []*corev1.Pod) (obstacle string) {
	if r.base == nil {
		return ""
	}
	for _, pod := range pods {
		why := r.notInPlace(pod, r.base)
		if why == "" {
			return ""
		}
		obstacle = cmp.Or(obstacle, pod.Name+": "+why)
	}
	return obstacle
}

// notInPlace tells why a pod cannot be changed to a revision in place; empty if it can.
func (r *rollout) notInPlace(pod *corev1.Pod, to *Revision) string {
	from := r.revisionOf(pod)
	if from == nil {
		return "the template that the pod was made from is not known any more"
	}
	if refused := refusalOf(pod, to.Hash); refused != "" {
		return refused
	}
	if isInfeasible(pod) && from == to { // what another revision asks for may be had
		return "its node cannot give it the CPU or memory"
	}
	_, why := r.change(from, to)
	return why
}

// change is what changeBetween says of two revisions. Most pods have it in common, so it is remembered.
func (r *rollout) change(from, to *Revision) (Change, string) {
	known, found := r.compared[[2]*Revision{from, to}]
	if !found {
		known.change, known.whyNot = changeBetween(from.Template(), to.Template())
		r.compared[[2]*Revision{from, to}] = known
	}
	return known.change, known.whyNot
}

// revisionOf is the revision that a pod was made from, or changed to; nil if it is not known.
func (r *rollout) revisionOf(pod *corev1.Pod) *Revision {
	hash := r.revisions.hashOf(pod)
	if hash == r.revisions.Update.Hash {
		return r.revisions.Update
	}
	return r.revisions.others[hash]
}

// findWantBase decides how many pods are to be of base.
func (r *rollout) findWantBase() int {
	desired := r.manager.DesiredReplicas()
	switch {
	case r.base == nil:
		return 0
	case r.rolledBack:
		return desired
	case r.manager.Strategy() == v1.OnDeleteStrategy && !r.manager.Spec.Paused:
		return 0
	case r.frozen != "" && r.manager.Strategy() == v1.RecreateStrategy:
		// Revisions must not overlap.
		if len(r.updated) > 0 {
			return 0
		}
		return desired
	case r.frozen != "":
		// Whatever is lost is replaced by the same, as far as the status remembers how it was.
		updated := len(r.updated) + r.unfilled
		if status := &r.manager.Status; status.UpdateRevision == r.revisions.Update.Name {
			updated = max(updated, int(status.UpdatedReplicas))
		}
		return max(0, desired-updated)
	default:
		return r.manager.Partition()
	}
}

// isUnstarted tells that the first rollout is not to begin yet: there was never a pod.
func (r *rollout) isUnstarted() bool {
	status := &r.manager.Status
	return r.manager.Spec.Paused && r.revisions.Current == nil && status.Replicas == 0 && status.Rollout == nil &&
		len(r.updated)+len(r.based)+len(r.strays) == 0
}

// due is how many pods are to have the present revision once the rollout is done.
func (r *rollout) due() int {
	if r.base == nil {
		return r.manager.DesiredReplicas()
	}
	return r.manager.DesiredReplicas() - r.manager.Partition()
}

// outdated is how many active pods are still to be moved to another revision, were there no freeze.
func (r *rollout) outdated() int {
	want := r.manager.DesiredReplicas() - r.due()
	if r.rolledBack && r.base != nil {
		want = r.manager.DesiredReplicas()
	}
	return len(r.strays) + max(0, len(r.based)-want, want-len(r.based)-r.missing())
}

// missing is how many pods there are too few.
func (r *rollout) missing() int {
	return max(0, r.manager.DesiredReplicas()-len(r.updated)-len(r.based)-len(r.strays))
}
