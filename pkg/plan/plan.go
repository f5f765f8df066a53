package plan

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// ActsOnPods tells whether the plan does something about pods that stand.
func (p Plan) ActsOnPods() bool {
	goes := func(d rollout.Deletion) bool { return d.Why != rollout.WhyFinished && d.Why != rollout.WhyLeftover }
	return len(p.Create)+len(p.Update) > 0 || slices.ContainsFunc(p.Delete, goes)
}

// ahead is how many pods a plan has to create, for a new object to tell so before it does.
const ahead = 100

// TellsAhead tells whether a plan will take so long that a new object should have a status before it is carried out.
func (p Plan) TellsAhead(manager *v1.PodManager) bool {
	return manager.Status.ObservedGeneration < 1 && len(p.Create) >= ahead
}

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
	// Leftovers and LeftoverRevisions are those of a PodManager that had the same name and is gone.
	Leftovers         []*corev1.Pod
	LeftoverRevisions []*appsv1.ControllerRevision
	// Revisions are the stored templates whose controller is Manager.
	Revisions []*appsv1.ControllerRevision
	// OrphanRevisions are stored templates that carry Manager's label and have no controller.
	OrphanRevisions []*appsv1.ControllerRevision
	// Remembered is what the last plan asked to be remembered, if this process made it.
	Remembered []*history.Revision
	// PodNamed is the known pod in the namespace that has this name, whoever it belongs to; nil if there is none.
	PodNamed func(name string) *corev1.Pod
	// Taken are names that were found to be in the hands of pods that are not watched.
	Taken map[string]bool
	// Holds are set for requests that were refused.
	Holds map[requeue.HoldKey]requeue.Hold
	Now   time.Time
}

// Sources are where the revisions are found.
func (o Observed) Sources() history.Sources {
	return history.Sources{
		Manager: o.Manager, Stored: o.Revisions, Orphans: o.OrphanRevisions, Remembered: o.Remembered, Pods: o.Pods, OrphanPods: o.Orphans,
	}
}

// Plan is what is to be done, in the order of its parts.
type Plan struct {
	// AddFinalizer comes before anything is created, or a deletion could pass by unseen.
	AddFinalizer bool
	// Revisions are the templates that the plan is about. Store comes before any pod is made or changed.
	Revisions history.Revisions
	// Remember are revisions to be shown to the next plan: that of the present template, which need not be worked out anew, and
	// those of pods that are not stored anywhere.
	Remember []*history.Revision
	// AdoptRevisions are revisions that a namesake has left behind together with its pods.
	AdoptRevisions []*appsv1.ControllerRevision
	Store          []history.Store
	// Drop are revisions that are no longer needed.
	Drop    []*appsv1.ControllerRevision
	Adopt   []*corev1.Pod
	Release []*corev1.Pod
	Delete  []rollout.Deletion
	Create  []Creation
	Update  []inplace.Update
	// RemoveFinalizer lets a deleted PodManager go, or takes back a finalizer that is no longer needed.
	RemoveFinalizer bool
	// Held is the refusal because of which something is not tried this time.
	Held *requeue.Failure
	// Waiting is the failed pod that is next to be replaced, if its time has not come.
	Waiting *health.Retry
	// Foreign are the names that pods of somebody else keep from us.
	Foreign []string
	// Again is when to look again even if nothing happens.
	Again requeue.LookAgain

	// assessed is what the plan rests on, for a status that has seen nothing else.
	Assessed *rollout.State
}

// Creation is a pod to create.
type Creation struct {
	Index    int
	Revision *history.Revision
	// FailuresBefore is how many pods have failed one after the other before this one takes their place, DisruptionsBefore
	// how many of them were stopped by their node, and Replaces is the last.
	FailuresBefore, DisruptionsBefore int
	Replaces                          *corev1.Pod
}

// Empty tells whether there is nothing to do.
func (p Plan) Empty() bool {
	return !p.AddFinalizer && !p.RemoveFinalizer &&
		len(p.AdoptRevisions)+len(p.Store)+len(p.Drop)+len(p.Adopt)+len(p.Release)+len(p.Delete)+len(p.Create)+len(p.Update) == 0
}

// NeedsLiveSpec tells whether the plan does what must not be done for a spec that is no longer wanted.
func (p Plan) NeedsLiveSpec() bool {
	return len(p.AdoptRevisions)+len(p.Store)+len(p.Drop)+len(p.Adopt)+len(p.Delete)+len(p.Create)+len(p.Update) > 0
}

// Make decides what is to be done about one PodManager.
func Make(o Observed) Plan {
	if o.Manager.DeletionTimestamp != nil {
		return makeFinal(o)
	}
	kept, released := KeepOrRelease(o.Manager, o.Pods)
	plan := Plan{
		AddFinalizer:    needsFinalizer(o.Manager) && !hasFinalizer(o.Manager, v1.Finalizer),
		RemoveFinalizer: !needsFinalizer(o.Manager) && hasFinalizer(o.Manager, v1.Finalizer),
		AdoptRevisions:  o.OrphanRevisions,
		Adopt:           adoptable(o.Orphans),
		Release:         released,
		Foreign:         foreignNames(o),
		Revisions:       history.Find(o.Sources()),
	}
	active, finished, terminating := podstate.Split(kept)
	active = append(active, plan.Adopt...)
	r := rollout.Assess(o.Manager, plan.Revisions, active, finished, o.Now)
	plan.Assessed = r
	plan.Store, plan.Remember = plan.Revisions.ToStore(r.IsGood())
	plan.Drop = plan.Revisions.BeyondLimit()
	hold, refused := o.Holds[CreateHold(r.Revisions.Update)]
	moves := rollout.Decide(r, terminating, refused, refused && o.Now.Before(hold.Until))
	plan.Delete, plan.Update = moves.Delete, moves.Update
	plan.Again = requeue.After(o.Now, moves.Again, requeue.AgainDrained)

	unfilled := slices.Concat(
		plan.fill(o, r.Old, moves.CreateOld, health.FindRetries(r.Old, r.OldPods, finished, o.Now)),
		plan.fill(o, r.Revisions.Update, moves.CreateUpdated, r.Retries(finished)))
	if moves.Held {
		plan.hold(o, hold)
	}
	for _, pod := range health.BeyondHistory(finished, unfilled, o.Manager.FailedPodsKept(), o.Now) {
		plan.Delete = append(plan.Delete, rollout.Deletion{Pod: pod, Why: rollout.WhyFinished})
	}
	plan.removeLeftovers(o)
	plan.bound(o.Now)
	plan.holdBack(o)
	return plan
}

// bound keeps a plan to what one sync may do.
func (p *Plan) bound(now time.Time) {
	if len(p.Delete) > MaxPerSync || len(p.Create) > MaxPerSync || len(p.Update) > MaxPerSync {
		p.Again = requeue.LookAgain{At: now, Why: requeue.AgainMore}
	}
	p.Delete = p.Delete[:min(len(p.Delete), MaxPerSync)]
	p.Create = p.Create[:min(len(p.Create), MaxPerSync)]
	p.Update = p.Update[:min(len(p.Update), MaxPerSync)]
}

// fill plans to create missing pods of a revision, but for the places of failed pods whose time has not come. It returns
// the failed pods whose places are not filled yet; that a place is to be filled now does not mean that it will be.
func (p *Plan) fill(o Observed, revision *history.Revision, missing int, retries health.Retries) []health.Retry {
	if missing <= 0 {
		return nil
	}
	waiting := retries.Waiting[:min(missing, len(retries.Waiting))]
	if len(waiting) > 0 {
		p.Waiting = &waiting[0]
		p.Again = p.Again.Sooner(requeue.LookAgain{At: waiting[0].Due, Why: requeue.AgainBackOff})
	}
	missing -= len(waiting)
	unfilled := slices.Concat(waiting, retries.Due[:min(missing, len(retries.Due))])
	if hold, found := o.holdOn(CreateHold(revision)); found && missing > 0 {
		p.hold(o, hold)
		return unfilled
	}
	missing = min(missing, MaxPerSync+1) // one more tells bound that there is more to do
	for i, index := range freeIndices(o, len(p.Create)+missing)[len(p.Create):] {
		creation := Creation{Index: index, Revision: revision}
		if i < len(retries.Due) {
			due := retries.Due[i]
			creation.FailuresBefore, creation.DisruptionsBefore, creation.Replaces = due.Failures, due.Disruptions, due.Pod
		}
		p.Create = append(p.Create, creation)
	}
	return unfilled
}
