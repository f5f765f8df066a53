package plan

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// MaxPerSync is how many pods one sync creates or deletes at the most, so that a huge PodManager reports, and sees a
// changed spec, while it is still growing.
const MaxPerSync = 500

// Observed is all that a decision may rest on.
type Observed struct {
	Manager *v1.PodManager
	// Pods are the pods whose controller is Manager, told by UID.
	Pods []*corev1.Pod
	// Orphans are pods that carry Manager's label and have no controller.
	Orphans []*corev1.Pod
	// Revisions are the stored templates whose controller is Manager.
	Revisions []*appsv1.ControllerRevision
	// PodNamed is the pod in the namespace that has this name, whoever it belongs to; nil if there is none.
	PodNamed func(name string) *corev1.Pod
	// Holds are set for revisions, by hash, whose last pod was refused.
	Holds map[string]Hold
	Now   time.Time
}

// Plan is what is to be done. Its parts are independent of one another, but for Finalize, which goes last.
type Plan struct {
	// AddFinalizer comes before anything is created, or a deletion could pass by unseen.
	AddFinalizer bool
	// Revisions are the templates that the plan is about. Store comes before any pod is made or changed.
	Revisions Revisions
	Store     *Store
	// Drop are revisions that are no longer needed.
	Drop    []*appsv1.ControllerRevision
	Adopt   []*corev1.Pod
	Release []*corev1.Pod
	Delete  []Deletion
	Create  []Creation
	Change  []InPlace
	// Finalize lets the deleted PodManager go, once a live look has shown that none of its pods is left.
	Finalize bool
	// Held is the failure because of which wanted pods are not created this time.
	Held *Failure
	// Waiting is the failed pod that is next to be replaced, if its time has not come.
	Waiting *Retry
	// Foreign are the names that pods of somebody else keep from us.
	Foreign []string
	// More tells that there is more to do than one sync may.
	More bool
	// Again is when to look again even if nothing happens; zero for never.
	Again time.Duration
}

// Creation is a pod to create.
type Creation struct {
	Index    int
	Revision *Revision
	// FailuresBefore is how many pods have failed one after the other before this one takes their place, DisruptionsBefore
	// how many of them were stopped by their node, and Replaces is the last.
	FailuresBefore, DisruptionsBefore int
	Replaces                          *corev1.Pod
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
	WhyEnded    Why = "no longer running"
	WhyFinalize Why = "the PodManager is being deleted"
	// Rollouts.
	WhyOutdated   Why = "made from another template"
	WhyMovedBack  Why = "the partition was raised"
	WhyRolledBack Why = "the revision has failed"
)

// Empty tells whether there is nothing to do.
func (p Plan) Empty() bool {
	return !p.AddFinalizer && !p.Finalize && p.Store == nil &&
		len(p.Drop)+len(p.Adopt)+len(p.Release)+len(p.Delete)+len(p.Create)+len(p.Change) == 0
}

// Weighs tells whether the plan does what must not be done for a spec that is no longer wanted.
func (p Plan) Weighs() bool {
	return p.Store != nil || len(p.Adopt)+len(p.Delete)+len(p.Create)+len(p.Change) > 0
}

// Make decides what is to be done about one PodManager.
func Make(o Observed) Plan {
	if o.Manager.DeletionTimestamp != nil {
		return makeFinal(o)
	}
	kept, released := keepOrRelease(o.Manager, o.Pods)
	plan := Plan{
		AddFinalizer: !slices.Contains(o.Manager.Finalizers, v1.Finalizer),
		Adopt:        adoptable(o.Orphans),
		Release:      released,
		Foreign:      foreignNames(o),
	}
	plan.Revisions, plan.Store = revisionsOf(o)
	plan.Drop = beyondRevisionHistory(o, plan.Revisions)
	active, ended, ending := split(kept)
	active = append(active, plan.Adopt...)
	r := assess(o.Manager, plan.Revisions, active, ended, o.Now)
	moves, come := decideMoves(o, r, ending)
	plan.Delete, plan.Change, plan.Again = moves.deletions, slices.Concat(moves.changes, moves.restorations(), moves.openings()), moves.again

	unfilled := slices.Concat(
		plan.fill(o, r.base, come.base, retriesOf(r.base, r.based, ended, o.Now)),
		plan.fill(o, r.revisions.Update, come.updated, retriesOf(r.revisions.Update, r.updated, ended, o.Now)))
	if moves.held && moves.needUpdated() > 0 {
		plan.hold(o.Holds[r.revisions.Update.Hash], o.Now)
	}
	for _, pod := range beyondHistory(o, ended, unfilled) {
		plan.Delete = append(plan.Delete, Deletion{Pod: pod, Why: WhyEnded})
	}
	plan.bound()
	return plan
}

// decideMoves decides which active pods go or change, and how many come.
func decideMoves(o Observed, r *rollout, ending []*corev1.Pod) (*moves, comes) {
	m := newMoves(r)
	if o.Manager.Spec.PodReplacementPolicy == v1.TerminationComplete {
		m.waitForGone, m.going = true, len(ending)
	}
	hold, refused := o.Holds[r.revisions.Update.Hash]
	m.refused, m.held = refused, refused && o.Now.Before(hold.Until)
	allowed := allowance(o.Manager, m.left(), len(ending))
	m.takeMarked(allowed)
	m.takeSurplus(allowed - len(m.deletions))
	switch {
	case m.left() > m.desired+m.surge:
		return m, comes{} // first things first
	case r.isUnstarted():
		return m, comes{}
	case o.Manager.Strategy() == v1.RecreateStrategy:
		return m, m.recreate(ending)
	case r.frozen != "":
		return m, m.refill()
	default:
		return m, m.roll()
	}
}

// bound keeps a plan to what one sync may do.
func (p *Plan) bound() {
	p.More = len(p.Delete) > MaxPerSync || len(p.Create) > MaxPerSync || len(p.Change) > MaxPerSync
	p.Delete = p.Delete[:min(len(p.Delete), MaxPerSync)]
	p.Create = p.Create[:min(len(p.Create), MaxPerSync)]
	p.Change = p.Change[:min(len(p.Change), MaxPerSync)]
}

// allowance is how many more pods may be sent away while some are still going.
func allowance(manager *v1.PodManager, active, going int) int {
	limit := active + going
	if scaleDown := manager.Spec.ScaleDown; scaleDown != nil && scaleDown.MaxUnavailable != nil {
		// The CRD lets only valid values in; anything else would be from before it did, and means no limit.
		if scaled, err := intstr.GetScaledValueFromIntOrPercent(scaleDown.MaxUnavailable, active+going, true); err == nil {
			limit = max(1, scaled)
		}
	}
	return max(0, limit-going)
}

// fill plans to create missing pods of a revision, but for the places of failed pods whose time has not come. It returns
// the failed pods whose places are not filled yet; that a place is to be filled now does not mean that it will be.
func (p *Plan) fill(o Observed, revision *Revision, missing int, retries retries) []Retry {
	if missing <= 0 {
		return nil
	}
	waiting := retries.waiting[:min(missing, len(retries.waiting))]
	if len(waiting) > 0 {
		p.Waiting = &waiting[0]
		p.Again = soonest(p.Again, waiting[0].Due.Sub(o.Now))
	}
	missing -= len(waiting)
	unfilled := slices.Concat(waiting, retries.due[:min(missing, len(retries.due))])
	if hold, found := o.Holds[revision.Hash]; found && missing > 0 && o.Now.Before(hold.Until) {
		p.hold(hold, o.Now)
		return unfilled
	}
	missing = min(missing, MaxPerSync+1) // one more tells bound that there is more to do
	for i, index := range freeIndices(o, len(p.Create)+missing)[len(p.Create):] {
		creation := Creation{Index: index, Revision: revision}
		if i < len(retries.due) {
			due := retries.due[i]
			creation.FailuresBefore, creation.DisruptionsBefore, creation.Replaces = due.Failures, due.Disruptions, due.Pod
		}
		p.Create = append(p.Create, creation)
	}
	return unfilled
}

// hold tells that pods are not created because the last one was refused.
func (p *Plan) hold(hold Hold, now time.Time) {
	p.Held = &hold.Failure
	p.Again = soonest(p.Again, hold.Until.Sub(now))
}

// soonest is the shorter of two waits, of which zero means none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// makeFinal decides about a PodManager that is being deleted. With the orphan finalizer the user has asked for the
// pods to stay.
func makeFinal(o Observed) Plan {
	if !slices.Contains(o.Manager.Finalizers, v1.Finalizer) {
		return Plan{}
	}
	plan := Plan{Finalize: len(o.Pods) == 0}
	if slices.Contains(o.Manager.Finalizers, metav1.FinalizerOrphanDependents) {
		plan.Release = o.Pods
		return plan
	}
	active, ended, ending := split(o.Pods)
	allowed := allowance(o.Manager, len(active), len(ending))
	for _, pod := range slices.Concat(rank(active, false)[:min(allowed, len(active))], ended) {
		plan.Delete = append(plan.Delete, Deletion{Pod: pod, Why: WhyFinalize})
	}
	plan.bound()
	return plan
}

// split tells the active pods from those that have ended and still stand, and those that are ending.
func split(pods []*corev1.Pod) (active, ended, ending []*corev1.Pod) {
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
			ending = append(ending, pod)
		case hasEnded(pod):
			ended = append(ended, pod)
		default:
			active = append(active, pod)
		}
	}
	return active, ended, ending
}
