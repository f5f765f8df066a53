package plan

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// MaxPerSync limits how many pods one sync creates, how many it deletes, and how many it updates. While a huge PodManager scales up, the controller
// can thus write its status and notice a changed spec.
const MaxPerSync = 500

// Observed is everything that Make bases its decisions on.
type Observed struct {
	Manager *v1.PodManager
	// Pods are the pods whose controller reference has Manager's UID.
	Pods []*corev1.Pod
	// Orphans are pods that carry Manager's label and have no controller.
	Orphans []*corev1.Pod
	// Leftovers and LeftoverRevisions belong to a deleted PodManager of the same name.
	Leftovers         []*corev1.Pod
	LeftoverRevisions []*appsv1.ControllerRevision
	// Revisions are the stored templates whose controller is Manager.
	Revisions []*appsv1.ControllerRevision
	// OrphanRevisions are stored templates that carry Manager's label and have no controller.
	OrphanRevisions []*appsv1.ControllerRevision
	// Remembered is Plan.Remember of the last plan, if this process made that plan.
	Remembered []*history.Revision
	// NodeOf returns what is known about a node. It is nil if the controller does not watch nodes.
	NodeOf func(name string) leaving.Node
	// NodesForbidden is set if the controller may not watch nodes.
	NodesForbidden bool
	// PodNamed returns the pod of this name from the informer's cache, whatever its controller, or nil if there is none.
	PodNamed func(name string) *corev1.Pod
	// Taken has the names of pods that the informers do not watch. The value is true for a pod that is worth a warning, see IsForeign.
	Taken map[string]bool
	// Holds are the backoffs of requests that the API server has refused.
	Backoffs     map[requeue.BackoffKey]requeue.Backoff
	Capabilities inplace.Capabilities
	Spreading    Spreading
	Now          time.Time
	// IsLive is set if all these objects were read from the API server, not from the caches.
	IsLive bool
}

// Sources returns where to find the revisions.
func (o Observed) Sources() history.Sources {
	return history.Sources{
		Manager: o.Manager, Stored: o.Revisions, Orphans: o.OrphanRevisions, Remembered: o.Remembered, Pods: o.Pods, OrphanPods: o.Orphans,
	}
}

// Plan is what one sync is to do.
type Plan struct {
	// AddFinalizer comes before any pod is created: otherwise the PodManager could be deleted without the controller noticing.
	AddFinalizer bool
	// Revisions are the revisions that the plan is about. Store comes before any pod is created or updated.
	Revisions history.Revisions
	// Remember are revisions for the next plan: the revision of the spec's template, so that it need not be encoded again, and revisions of pods
	// that are not stored.
	Remember []*history.Revision
	// AdoptRevisions are orphaned revisions of a deleted PodManager of the same name.
	AdoptRevisions []*appsv1.ControllerRevision
	Store          []history.Store
	// Mark are revisions that are to be marked as good or failed, or to lose such a mark.
	Mark []*appsv1.ControllerRevision
	// Drop are the revisions to delete: those beyond revisionHistoryLimit, and Observed.LeftoverRevisions.
	Drop    []*appsv1.ControllerRevision
	Adopt   []*corev1.Pod
	Release []*corev1.Pod
	Delete  []rollout.Deletion
	Create  []Creation
	Update  []inplace.Update
	// Annotate are pods that get podstate.AnnotationSafeToEvict.
	Annotate []*corev1.Pod
	// RemoveFinalizer ends the deletion of a PodManager, or removes a finalizer that is no longer needed.
	RemoveFinalizer bool
	// Blocked is the refusal that keeps requests out of this plan until its backoff is over.
	Blocked *requeue.Failure
	// Leaving are pods that still run, but no longer count. Alone is set if pods on drained or lost nodes are not replaced before they are gone,
	// because a pod and its replacement must never run at the same time.
	Leaving []leaving.Pod
	Alone   bool
	// uncovered are the leaving pods that have no replacement that is available, except those that Create replaces. replaced are the pods that have a
	// replacement which has not finished.
	uncovered []leaving.Pod
	replaced  map[types.UID]bool
	// NodesForbidden is copied from Observed.
	NodesForbidden bool
	// Waiting is the failed pod whose backoff ends next; nil if no failed pod is in backoff.
	Waiting *health.Retry
	// Foreign are the names that the plan skips because pods of other owners have them.
	Foreign []string
	// Again is when to sync again if no event arrives.
	Again requeue.Requeue

	// Rollout is the rollout that the plan is based on, and what follows from it for the status: which revision has failed, and which one is
	// good. It is nil if the PodManager is being deleted. Capabilities is copied from Observed.
	Rollout      *rollout.Conclusion
	Capabilities inplace.Capabilities
}

// Creation is a pod to create.
type Creation struct {
	Index    int
	Revision *history.Revision
	// SpreadOver are the topology keys to spread the pod over if its template does not say how.
	SpreadOver []string
	// Ungated is set if the pod gets no readiness gate, because the controller could not open the gate.
	Ungated bool
	// Failed is the failed pod that this pod replaces. Before is the leaving pod that it replaces.
	Failed *corev1.Pod
	Before *leaving.Pod
	// Replaces are the UIDs of all pods that this pod replaces, even if they are gone.
	Replaces []types.UID
	// FailuresBefore is how many predecessors of the pod have failed in a row. DisruptionsBefore is how many of these failures say nothing about
	// their revision.
	FailuresBefore, DisruptionsBefore int
}

// Empty reports whether there is nothing to do.
func (p Plan) Empty() bool {
	return !p.AddFinalizer && !p.RemoveFinalizer &&
		len(p.Mark)+len(p.AdoptRevisions)+len(p.Store)+len(p.Drop)+len(p.Adopt)+len(p.Release)+len(p.Delete)+len(p.Create)+len(p.Update)+len(p.Annotate) == 0
}

// NeedsLiveSpec reports whether the plan does anything that must not be done for an outdated spec.
func (p Plan) NeedsLiveSpec() bool { return p.TouchesWhatExists() || len(p.Store)+len(p.Create) > 0 }

// TouchesWhatExists reports whether the plan does anything to pods and revisions that exist.
func (p Plan) TouchesWhatExists() bool {
	return len(p.Mark)+len(p.AdoptRevisions)+len(p.Drop)+len(p.Adopt)+len(p.Release)+len(p.Delete)+len(p.Update)+len(p.Annotate) > 0
}

// TakesDown reports whether the plan takes down ready pods while other pods are to stay. Such a plan has to be based on the current state of the
// other pods, so the controller may have to read them live first.
func (p Plan) TakesDown(manager *v1.PodManager) bool {
	takesDown := func(d rollout.Deletion) bool { return podstate.IsReady(d.Pod) && d.Why != rollout.WhyLeftover }
	return manager.DesiredReplicas() > 0 && (slices.ContainsFunc(p.Delete, takesDown) ||
		slices.ContainsFunc(p.Update, func(u inplace.Update) bool { return podstate.IsReady(u.Pod) && u.Step != inplace.StepOpen }))
}

// ActsOnPods reports whether the plan creates, updates or deletes active pods. Deleting finished pods or leftovers of another PodManager does not
// count.
func (p Plan) ActsOnPods() bool {
	return len(p.Create)+len(p.Update) > 0 || slices.ContainsFunc(p.Delete, deletesActive)
}

// deletesActive reports whether the deleted pod is an active pod of the PodManager.
func deletesActive(d rollout.Deletion) bool {
	return d.Why != rollout.WhyFinished && d.Why != rollout.WhyLeftover
}

// manyCreates is the number of creates from which on a new object gets its first status before its pods are created.
const manyCreates = 100

// NeedsStatusFirst reports whether carrying out the plan will take so long that a new object should get a status first.
func (p Plan) NeedsStatusFirst(manager *v1.PodManager) bool {
	return manager.Status.ObservedGeneration < 1 && len(p.Create) >= manyCreates
}

// Make decides what to do for one PodManager.
func Make(o Observed) Plan {
	if o.Manager.DeletionTimestamp != nil {
		return makeFinal(o)
	}
	o = o.withoutFutureTimes()
	kept, released := podstate.KeepOrRelease(o.Manager, o.Pods)
	plan := Plan{
		AddFinalizer:    needsFinalizer(o.Manager) && !hasFinalizer(o.Manager, v1.Finalizer),
		RemoveFinalizer: !needsFinalizer(o.Manager) && hasFinalizer(o.Manager, v1.Finalizer),
		AdoptRevisions:  o.OrphanRevisions,
		Release:         released,
		Foreign:         foreignNames(o),
		Revisions:       history.Find(o.Sources()),
		Capabilities:    o.Capabilities,
		NodesForbidden:  o.NodesForbidden,
	}
	plan.adopt(o)
	active, finished, terminating := podstate.Split(kept)
	active = append(active, plan.Adopt...)
	r := plan.assess(o, active, finished, terminating)
	plan.Store, plan.Remember = plan.Revisions.ToStore(r.IsWorthStoring())
	unstored := plan.delayStores(o)
	if len(plan.Store) == 0 { // otherwise the next plan marks what this one stores
		plan.Mark = plan.Revisions.ToMark(r.HasFailed(), o.Now)
	}
	plan.Drop = plan.Revisions.BeyondLimit()
	_, refused := o.Backoffs[CreateBackoff(r.Revisions.Update)]
	backoff, blocked := o.activeBackoff(CreateBackoff(r.Revisions.Update))
	moves := rollout.Decide(r, terminating, refused || unstored, blocked || unstored)
	plan.Rollout = r.Conclude()
	plan.Update = slices.DeleteFunc(moves.Update, func(u inplace.Update) bool { return plan.deletes(u.Pod) })
	plan.Delete = append(plan.Delete, moves.Delete...)
	plan.Again = plan.Again.Sooner(requeue.After(o.Now, moves.Again, requeue.RequeueDrained)).Sooner(requeue.After(o.Now, moves.Retry, requeue.RequeueRefused))

	unreplaced := slices.Concat(
		plan.fillSide(o, r, r.Old, moves.CreateOld, finished),
		plan.fillSide(o, r, r.Revisions.Update, moves.CreateUpdated, finished),
		r.Unrecorded)
	if moves.Blocked && blocked {
		plan.delay(o, backoff)
	}
	for _, pod := range health.BeyondHistory(finished, unreplaced, o.Manager.FailedPodsKept(), o.Now) {
		plan.Delete = append(plan.Delete, rollout.Deletion{Pod: pod, Why: rollout.WhyFinished})
	}
	plan.annotate(r.Budget, active)
	plan.removeLeftovers(o)
	if unstored {
		plan.withoutUnstored(r)
	}
	plan.dropBlocked(o)
	plan.bound(o.Now) // after dropBlocked, so that requests in backoff do not cause another sync at once
	return plan
}

// deletes reports whether the plan deletes a pod.
func (p *Plan) deletes(pod *corev1.Pod) bool {
	return slices.ContainsFunc(p.Delete, func(d rollout.Deletion) bool { return d.Pod == pod })
}

// annotate plans to add AnnotationSafeToEvict to pods that lack it, such as pods that an earlier version of the controller created. It annotates as
// many pods at a time as a rollout would change.
func (p *Plan) annotate(budget rollout.Budget, active []*corev1.Pod) {
	changes := map[*corev1.Pod]bool{}
	for _, pod := range p.Adopt {
		changes[pod] = true // the adoption annotates it
	}
	for _, update := range p.Update {
		changes[update.Pod] = true
	}
	for _, deletion := range p.Delete {
		changes[deletion.Pod] = true
	}
	for _, pod := range active {
		if podstate.NeedsSafeToEvict(pod) && !changes[pod] {
			p.Annotate = append(p.Annotate, pod)
		}
	}
	slices.SortFunc(p.Annotate, func(a, b *corev1.Pod) int { return podstate.ByIndex(a.Name, b.Name) })
	p.Annotate = p.Annotate[:min(len(p.Annotate), max(1, budget.MaxSurge+budget.MaxUnavailable))]
}

// bound limits a plan to what one sync may do. If active pods that are to be deleted stay until the next sync, the rest of the plan waits for them: it
// relies on their deletion.
func (p *Plan) bound(now time.Time) {
	if len(p.Delete) > MaxPerSync && slices.ContainsFunc(p.Delete[MaxPerSync:], deletesActive) {
		p.Create, p.Update = nil, nil
	}
	if len(p.Delete) > MaxPerSync || len(p.Create) > MaxPerSync || len(p.Update) > MaxPerSync {
		p.Again = requeue.Requeue{At: now, Why: requeue.RequeueMore}
	}
	p.Delete = p.Delete[:min(len(p.Delete), MaxPerSync)]
	p.Create = p.Create[:min(len(p.Create), MaxPerSync)]
	p.Update = p.Update[:min(len(p.Update), MaxPerSync)]
}

// fillSide plans to create the missing pods of a side of the rollout, whose revision this is. Replacements of leaving pods that keep another revision
// have backoffs of their own. It returns the failed pods that have no replacement yet.
func (p *Plan) fillSide(o Observed, r *rollout.State, revision *history.Revision, missing int, finished []*corev1.Pod) (unreplaced []health.Retry) {
	kept := p.keptRevisions(r, revision, missing)
	missing -= len(kept)
	for len(kept) > 0 {
		own := kept[0]
		others := slices.DeleteFunc(slices.Clone(kept), func(other *history.Revision) bool { return other == own })
		unreplaced = append(unreplaced, p.fill(o, r, own, len(kept)-len(others), p.ofLeaving(r, revision, own, r.Retries(own, finished)))...)
		kept = others
	}
	return append(unreplaced, p.fill(o, r, revision, missing, r.Retries(revision, finished))...)
}

// fill plans to create missing pods of a revision, except replacements of failed pods whose backoff is not over. It returns the failed pods that
// have no replacement yet, including those that this plan replaces: a planned create may still fail.
func (p *Plan) fill(o Observed, r *rollout.State, revision *history.Revision, missing int, retries health.Retries) []health.Retry {
	if missing <= 0 {
		return nil
	}
	if status.ReadyReason(&o.Manager.Status) == v1.ReasonScaledToZero {
		// Clients wait for the first pod after the scale to zero, and the reason why pods failed before may be gone.
		retries = health.Retries{Due: slices.Concat(retries.Due, retries.Waiting)}
	}
	waiting := retries.Waiting[:min(missing, len(retries.Waiting))]
	if len(waiting) > 0 {
		if p.Waiting == nil || waiting[0].Due.Before(p.Waiting.Due) {
			p.Waiting = &waiting[0]
		}
		p.Again = p.Again.Sooner(requeue.Requeue{At: waiting[0].Due, Why: requeue.RequeueBackOff})
	}
	missing -= len(waiting)
	replaced := min(missing, len(retries.Due))
	unreplaced, surplus := slices.Concat(waiting, retries.Due[:replaced]), retries.Due[replaced:]
	missing = min(missing, MaxPerSync+1) // one more than MaxPerSync makes bound request another sync
	p.Create = slices.Grow(p.Create, missing)
	over, free, gone := o.spreadOver(), freeIndices(o, len(p.Create)+missing), p.failingAndGone(r, revision, surplus)
	for i := range missing {
		creation := Creation{Index: free[len(p.Create)], Revision: revision, SpreadOver: over, Ungated: !o.Capabilities.CanResizeAndDrain}
		if i < len(retries.Due) {
			creation.replaceFailed(o, retries.Due[i])
		} else if before := p.replaces(r, revision); before != nil {
			creation.Before = before
			creation.replaceLeaving(o, before.Pod)
		}
		if len(gone) > 0 && !slices.ContainsFunc(creation.Replaces, r.CountsAsFailing) { // a pod stands for one failure
			creation.replace(o, gone[0])
			gone = gone[1:]
		}
		if hold, found := o.activeBackoff(CreateBackoff(creation.Revision)); found {
			p.delay(o, hold)
			continue
		}
		p.Create = append(p.Create, creation)
	}
	return unreplaced
}

// failingAndGone returns the failing pods of a revision that are gone and have no replacement, or that the user has marked for deletion. surplus are
// finished pods that get no replacement of their own, because fewer pods are missing. Leaving pods that are not covered get replacements of their own.
func (p *Plan) failingAndGone(r *rollout.State, revision *history.Revision, surplus []health.Retry) (uids []types.UID) {
	if revision != r.Revisions.Update {
		return nil
	}
	for _, gone := range r.Gone {
		uids = append(uids, gone.UID)
	}
	for _, pod := range r.FailingPods {
		isSurplus := slices.ContainsFunc(surplus, func(retry health.Retry) bool { return retry.Pod == pod })
		if isSurplus || podstate.IsMarked(pod) {
			uids = append(uids, pod.UID)
		}
	}
	return uids
}

// replace makes the pod the replacement of another pod, and also of the pods that the other pod has replaced, as long as they exist or the status
// records their failures. Otherwise, once the other pod is gone, they would count as not replaced, and their failures would pass to no pod.
func (c *Creation) replace(o Observed, uid types.UID) {
	c.Replaces = append(c.Replaces, uid)
	at := slices.IndexFunc(o.Pods, func(pod *corev1.Pod) bool { return pod.UID == uid })
	if at < 0 {
		return
	}
	for _, before := range health.Replaces(o.Pods[at]) {
		exists := slices.ContainsFunc(o.Pods, func(pod *corev1.Pod) bool { return pod.UID == before })
		if exists || o.isRecorded(before) {
			c.Replaces = append(c.Replaces, before)
		}
	}
}

// isRecorded reports whether the status records a failure of the pod with this UID.
func (o Observed) isRecorded(uid types.UID) bool {
	record := o.Manager.Status.Rollout
	return record != nil && slices.ContainsFunc(record.Failing, func(failing v1.FailingPod) bool { return failing.UID == uid })
}

func (c *Creation) replaceFailed(o Observed, failed health.Retry) {
	c.replace(o, failed.Pod.UID)
	c.Failed, c.FailuresBefore, c.DisruptionsBefore = failed.Pod, failed.Failures, failed.Disruptions
}

func (c *Creation) replaceLeaving(o Observed, leaving *corev1.Pod) {
	c.replace(o, leaving.UID)
	if leaving.Labels[v1.LabelRevision] == c.Revision.Hash && inplace.CompletedRecord(leaving).Revision == "" {
		c.FailuresBefore, c.DisruptionsBefore = health.FailuresBefore(leaving), health.DisruptionsBefore(leaving)
	}
}
