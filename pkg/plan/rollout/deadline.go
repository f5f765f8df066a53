package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Progress is the record of a rollout that goes into the status, and what follows from the record.
type Progress struct {
	// Record is nil while no revision has to prove itself.
	Record *v1.RolloutStatus
	// Condemned tells that failureThreshold pods have not recovered in time, DeadlineExceeded that progressDeadlineSeconds have passed.
	Condemned, DeadlineExceeded bool
	// Again is when one of these will change without an event.
	Again requeue.LookAgain
}

// TrackProgress updates the record of the rollout until the new revision has proved itself. The deadline starts anew with a new maximum of
// available pods, when no pod is waited for, and when minReadySeconds has changed: what is available by now may not be any more.
func TrackProgress(r *State, available int) Progress {
	if !r.isRolling() || r.IsProven() && r.Revisions.Update.IsStored() || r.IsUnstarted() {
		return Progress{}
	}
	next := v1.RolloutStatus{Revision: r.Revisions.Update.Name, StartedAt: r.startsAt()}
	if old := r.Manager.Status.Rollout; old != nil && old.Revision == next.Revision {
		next = *old.DeepCopy()
		if r.mayHaveLeft() || next.MinReadySeconds != r.Manager.Spec.MinReadySeconds {
			next.MostAvailable, next.SpentSeconds, next.Since = 0, 0, nil
		}
	}
	// Pods above desired + maxSurge are left over from a scale-down, and no surge pods.
	wanted := int32(max(r.Manager.DesiredReplicas(), len(r.UpdatedPods)+len(r.OldPods)+len(r.StrayPods)-r.Manager.MaxSurge()))
	if !r.Manager.Spec.Paused || wanted > next.Replicas {
		next.Replicas = wanted
	}
	next.MinReadySeconds = r.Manager.Spec.MinReadySeconds
	next.Failing, next.BakingSince = r.failingRecords(), r.bakingSince()
	p := Progress{Record: &next, Again: requeue.After(r.Now, r.untilJudged(), requeue.AgainRecovered)}
	p.Condemned = r.isHaltedForGood()
	p.runClock(r, available)
	return p
}

// mayHaveLeft tells whether somebody may have changed the template and back since the status was written: then the rollout has begun anew, and
// what the clock showed before does not count. Two other edits in so short a time look the same, and only give the rollout more time.
func (r *State) mayHaveLeft() bool {
	return r.Manager.Generation > r.Manager.Status.ObservedGeneration+1
}

// startsAt is when a rollout without a record starts: now. The first revision of an object is no rollout.
func (r *State) startsAt() *metav1.Time {
	if status := &r.Manager.Status; status.UpdateRevision == "" || status.CurrentRevision == "" && status.UpdateRevision == r.Revisions.Update.Name {
		return nil
	}
	return WholeSecond(r.Now)
}

// runClock starts, stops or resets the clock of progressDeadlineSeconds.
func (p *Progress) runClock(r *State, available int) {
	next, due, deadline := p.Record, r.DesiredUpdated(), r.Manager.ProgressDeadline()
	// After a higher partition or a scale-down, fewer updated pods are due: pods beyond that number will count as progress again.
	next.MostAvailable = min(next.MostAvailable, int32(due))
	if available > int(next.MostAvailable) || available >= due || !r.waitsForUpdated(available) {
		next.MostAvailable, next.SpentSeconds, next.Since = int32(min(available, due)), 0, nil
	}
	runs := available < due && r.waitsForUpdated(available) && !r.standsStill()
	// Whoever may write the status may write any time there.
	next.SpentSeconds = max(0, next.SpentSeconds)
	spent := min(time.Duration(next.SpentSeconds)*time.Second, deadline)
	if next.Since != nil {
		spent += min(max(0, r.Now.Sub(next.Since.Time)), deadline)
	}
	switch {
	case runs && spent >= deadline:
		next.SpentSeconds, next.Since = int32(deadline/time.Second), nil
	case !runs && next.Since != nil:
		// The deadline passes only while the clock runs, so that it passes in the same status that tells it.
		next.SpentSeconds, next.Since = int32(max(0, min(spent, deadline-time.Second))/time.Second), nil
	case runs && next.Since == nil:
		next.Since = WholeSecond(r.Now)
	}
	p.DeadlineExceeded = runs && next.Since == nil
	if next.Since != nil {
		p.Again = p.Again.Sooner(requeue.After(r.Now, deadline-spent, requeue.AgainDeadline))
	}
}

// waitsForUpdated reports whether the rollout waits for updated pods to become available. It does not while there is no updated pod to wait
// for: because old pods use up maxUnavailable, other pods have to be gone first, or the API server refuses new pods.
func (r *State) waitsForUpdated(available int) bool {
	return len(r.UpdatedPods)+r.unreplaced > available
}

// standsStill reports whether the user, or what has failed, keeps the rollout from going on.
func (r *State) standsStill() bool {
	return r.Manager.Spec.Paused || r.Manager.Strategy() == v1.OnDeleteStrategy || r.IsHalted() || r.Obstacle != ""
}

// hasSlowPod reports whether an updated pod has a node and is not available, or has failed. Pods without a node tell of a lack of room,
// not of their revision.
func (r *State) hasSlowPod() bool {
	return r.failing() > 0 || slices.ContainsFunc(r.UpdatedPods, func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName != "" && !health.IsAvailable(pod, r.Manager.MinReady(), r.Now)
	})
}

// FailedRevision is the name of the revision that has failed and is rolled back; empty for none. The status has it before any pod is
// rolled back: otherwise a controller that restarts half way would find no failing pod and begin the rollout anew.
func FailedRevision(r *State, p Progress) string {
	update := r.Revisions.Update.Name
	switch {
	case r.RolledBack:
		return update
	case r.mayRollBack() && r.isRolling() && (p.Condemned || p.DeadlineExceeded && r.hasSlowPod()):
		return update
	default:
		return ""
	}
}
