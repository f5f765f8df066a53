package plan

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// OrphanRevisions are stored templates that carry Manager's label and have no controller.
	OrphanRevisions []*appsv1.ControllerRevision
	// Remembered is what the last plan asked to be remembered, if this process made it.
	Remembered []*Revision
	// PodNamed is the known pod in the namespace that has this name, whoever it belongs to; nil if there is none.
	PodNamed func(name string) *corev1.Pod
	// Taken are names that were found to be in the hands of pods that are not watched.
	Taken map[string]bool
	// Holds are set for requests that were refused.
	Holds map[HoldKey]Hold
	Now   time.Time
}

// sources are where the revisions are found.
func (o Observed) sources() Sources {
	return Sources{
		Manager: o.Manager, Stored: o.Revisions, Orphans: o.OrphanRevisions, Remembered: o.Remembered, Pods: o.Pods, OrphanPods: o.Orphans,
	}
}

// Plan is what is to be done, in the order of its parts.
type Plan struct {
	// AddFinalizer comes before anything is created, or a deletion could pass by unseen.
	AddFinalizer bool
	// Revisions are the templates that the plan is about. Store comes before any pod is made or changed.
	Revisions Revisions
	// Remember are revisions to be shown to the next plan: that of the present template, which need not be worked out anew, and
	// those of pods that are not stored anywhere.
	Remember []*Revision
	// AdoptRevisions are revisions that a namesake has left behind together with its pods.
	AdoptRevisions []*appsv1.ControllerRevision
	Store          []Store
	// Drop are revisions that are no longer needed.
	Drop    []*appsv1.ControllerRevision
	Adopt   []*corev1.Pod
	Release []*corev1.Pod
	Delete  []Deletion
	Create  []Creation
	Change  []InPlace
	// RemoveFinalizer lets a deleted PodManager go, or takes back a finalizer that is no longer needed.
	RemoveFinalizer bool
	// Held is the refusal because of which something is not tried this time.
	Held *Failure
	// Waiting is the failed pod that is next to be replaced, if its time has not come.
	Waiting *Retry
	// Foreign are the names that pods of somebody else keep from us.
	Foreign []string
	// Again is when to look again even if nothing happens.
	Again LookAgain

	// assessed is what the plan rests on, for a status that has seen nothing else.
	assessed *rollout
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
	return !p.AddFinalizer && !p.RemoveFinalizer &&
		len(p.AdoptRevisions)+len(p.Store)+len(p.Drop)+len(p.Adopt)+len(p.Release)+len(p.Delete)+len(p.Create)+len(p.Change) == 0
}

// Weighs tells whether the plan does what must not be done for a spec that is no longer wanted.
func (p Plan) Weighs() bool {
	return len(p.AdoptRevisions)+len(p.Store)+len(p.Adopt)+len(p.Delete)+len(p.Create)+len(p.Change) > 0
}

// Make decides what is to be done about one PodManager.
func Make(o Observed) Plan {
	if o.Manager.DeletionTimestamp != nil {
		return makeFinal(o)
	}
	kept, released := keepOrRelease(o.Manager, o.Pods)
	plan := Plan{
		AddFinalizer:    needsFinalizer(o.Manager) && !hasFinalizer(o.Manager, v1.Finalizer),
		RemoveFinalizer: !needsFinalizer(o.Manager) && hasFinalizer(o.Manager, v1.Finalizer),
		AdoptRevisions:  o.OrphanRevisions,
		Adopt:           adoptable(o.Orphans),
		Release:         released,
		Foreign:         foreignNames(o),
		Revisions:       findRevisions(o.sources()),
	}
	active, ended, ending := split(kept)
	active = append(active, plan.Adopt...)
	r := assess(o.Manager, plan.Revisions, active, ended, o.Now)
	plan.assessed = r
	plan.Store, plan.Remember = plan.Revisions.toStore(r.isGood())
	plan.Drop = plan.Revisions.beyondLimit()
	hold, refused := o.Holds[createHold(r.revisions.Update)]
	moves := decideMoves(r, ending, refused, refused && o.Now.Before(hold.Until))
	plan.Delete, plan.Change = moves.Delete, moves.Change
	plan.Again = After(o.Now, moves.Again, AgainDrained)

	unfilled := slices.Concat(
		plan.fill(o, r.base, moves.CreateOld, retriesOf(r.base, r.based, ended, o.Now)),
		plan.fill(o, r.revisions.Update, moves.CreateUpdated, r.retries(ended)))
	if moves.Held {
		plan.hold(o, hold)
	}
	for _, pod := range beyondHistory(ended, unfilled, o.Manager.FailedPodsKept(), o.Now) {
		plan.Delete = append(plan.Delete, Deletion{Pod: pod, Why: WhyEnded})
	}
	plan.bound(o.Now)
	plan.holdBack(o)
	return plan
}

// needsFinalizer tells whether something has to happen before the PodManager may go: its pods go at a pace, or their readiness
// gates may be closed, which nobody else opens. Elsewhere owner references and the garbage collector do it all, and a deletion
// never hangs because no controller runs.
func needsFinalizer(manager *v1.PodManager) bool {
	return manager.PacesScaleDown() || manager.InPlaceGrace() > 0
}

func hasFinalizer(manager *v1.PodManager, name string) bool {
	return slices.Contains(manager.Finalizers, name)
}

// bound keeps a plan to what one sync may do.
func (p *Plan) bound(now time.Time) {
	if len(p.Delete) > MaxPerSync || len(p.Create) > MaxPerSync || len(p.Change) > MaxPerSync {
		p.Again = LookAgain{At: now, Why: AgainMore}
	}
	p.Delete = p.Delete[:min(len(p.Delete), MaxPerSync)]
	p.Create = p.Create[:min(len(p.Create), MaxPerSync)]
	p.Change = p.Change[:min(len(p.Change), MaxPerSync)]
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
		p.Again = p.Again.Sooner(LookAgain{At: waiting[0].Due, Why: AgainBackOff})
	}
	missing -= len(waiting)
	unfilled := slices.Concat(waiting, retries.due[:min(missing, len(retries.due))])
	if hold, found := o.holdOn(createHold(revision)); found && missing > 0 {
		p.hold(o, hold)
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

// hold tells that something is not tried because the last try was refused; of a hold without a failure there is nobody to tell.
func (p *Plan) hold(o Observed, hold Hold) {
	if p.Held == nil && hold.Failure != (Failure{}) {
		p.Held = &hold.Failure
	}
	p.Again = p.Again.Sooner(After(o.Now, hold.Until.Sub(o.Now), AgainHold))
}

// holdBack takes out of the plan what was refused a moment ago, and what may not be done without it. Creates have their own
// hold for each revision, see fill.
func (p *Plan) holdBack(o Observed) {
	held := func(condition string, planned int) bool {
		hold, found := o.holdOn(HoldKey{Condition: condition})
		if !found || planned == 0 {
			return false
		}
		p.hold(o, hold)
		return true
	}
	switch {
	case held(v1.ReasonFailedStore, len(p.Store)+len(p.AdoptRevisions)):
		// What pods were made from could not be told later.
		p.AdoptRevisions, p.Store, p.Adopt, p.Release, p.Change, p.Delete, p.Create = nil, nil, nil, nil, nil, nil, nil
	case held(v1.ReasonFailedClaim, len(p.Adopt)+len(p.Release)):
		// Beside a pod that is still ours its replacement would be one too many.
		p.Adopt, p.Release, p.Change, p.Delete, p.Create = nil, nil, nil, nil, nil
	}
	if held(v1.ReasonFailedChange, len(p.Change)) {
		p.Change = nil
	}
	if held(v1.ReasonFailedDelete, len(p.Delete)) {
		p.Delete, p.Create = nil, nil // creates may count on the deletes
	}
}

// makeFinal decides about a PodManager that is being deleted. What is left to be done is up to the garbage collector, unless
// our finalizer is there. Its observation has to be a live one: no delete may rest on a cache that does not show yet that the
// user wanted to keep the pods.
func makeFinal(o Observed) Plan {
	if !hasFinalizer(o.Manager, v1.Finalizer) {
		return Plan{}
	}
	var plan Plan
	active, ended, ending := split(o.Pods)
	switch {
	case hasFinalizer(o.Manager, metav1.FinalizerOrphanDependents):
		// The user has asked for the pods to stay, and the garbage collector lets them go; it may have done so already.
		isOurs := func(pod *corev1.Pod) bool { return pod.Labels[v1.LabelManagerUID] == string(o.Manager.UID) }
		for _, pod := range slices.Concat(active, o.Orphans) {
			if isDrained(pod) && isOurs(pod) {
				plan.Change = append(plan.Change, InPlace{Pod: pod, Step: StepOpen})
			}
		}
		plan.RemoveFinalizer = len(plan.Change) == 0
	case !o.Manager.PacesScaleDown():
		plan.RemoveFinalizer = true
	default:
		plan.RemoveFinalizer = len(o.Pods) == 0
		allowed := allowance(o.Manager, len(active), len(ending))
		for _, pod := range slices.Concat(rank(active, false)[:min(allowed, len(active))], ended) {
			plan.Delete = append(plan.Delete, Deletion{Pod: pod, Why: WhyFinalize})
		}
	}
	plan.bound(o.Now)
	plan.holdBack(o)
	return plan
}
