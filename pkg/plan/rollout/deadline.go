package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// Progress is the record of a rollout that goes into the status, and what follows from it.
type Progress struct {
	// Record is nil while there is no new revision to prove.
	Record *v1.RolloutStatus
	// RecoveryExpired is set if failureThreshold pods have not recovered in time, DeadlineExceeded if progressDeadlineSeconds have passed.
	RecoveryExpired, DeadlineExceeded bool
	// Again is when one of these will change without an event.
	Again requeue.Requeue
}

// trackProgress updates the record of the rollout until the new revision is proven. The clock of the deadline restarts when the number of available
// pods reaches a new maximum, when the rollout waits for no pod, and when minReadySeconds has changed, because available pods may then no longer
// count as available.
func (r *State) trackProgress() Progress {
	if !r.isRolling() || r.currentRevision(r.IsProven()) == r.Revisions.Update.Name || r.IsUnstarted() {
		return Progress{}
	}
	next := v1.RolloutStatus{Revision: r.Revisions.Update.Name, StartedAt: r.startsAt()}
	if old := r.Manager.Status.Rollout; old != nil && old.Revision == next.Revision {
		next = *old.DeepCopy()
		if r.missedTemplateChange() || next.MinReadySeconds != r.Manager.Spec.MinReadySeconds {
			next.MostAvailable, next.SpentSeconds, next.Since = 0, 0, nil
		}
	}
	// Pods above desired + maxSurge are left over from a scale-down. They are not surge pods.
	wanted := int32(max(r.Desired, len(r.pods)-r.MaxSurge))
	if !r.Manager.Spec.Paused || wanted > next.Replicas {
		next.Replicas = wanted
	}
	next.MinReadySeconds = r.Manager.Spec.MinReadySeconds
	next.Failing, next.BakingSince, next.JudgedBy = r.failingRecords(), r.bakingSince(), ""
	if len(next.Failing) > 0 {
		next.JudgedBy = r.policyInWords()
	}
	p := Progress{Record: &next, Again: requeue.After(r.Now, r.untilFailuresChange(), requeue.RequeueRecovered)}
	p.RecoveryExpired = r.isHaltedForGood()
	p.runClock(r, r.countServing(r.isAvailable))
	return p
}

// missedTemplateChange reports whether the user may have changed the template and changed it back since the status was written. Then the rollout has started
// over, and the previous value of the clock does not count. Two unrelated edits in such a short time look the same, and only give the rollout more
// time.
func (r *State) missedTemplateChange() bool {
	return r.Manager.Generation > r.Manager.Status.ObservedGeneration+1
}

// startsAt returns the start of a rollout that has no record yet, which is now. It returns nil for the first revision of an object, which is not a
// rollout.
func (r *State) startsAt() *metav1.Time {
	if status := &r.Manager.Status; status.UpdateRevision == "" || status.CurrentRevision == "" && status.UpdateRevision == r.Revisions.Update.Name {
		return nil
	}
	return WholeSecond(r.Now)
}

// runClock starts, stops or resets the clock of progressDeadlineSeconds.
func (p *Progress) runClock(r *State, available int) {
	next, due, deadline := p.Record, r.DesiredUpdated(), r.Manager.ProgressDeadline()
	// After the partition was raised or replicas was lowered, fewer updated pods are due. Pods beyond that number will count as progress again.
	next.MostAvailable = min(next.MostAvailable, int32(due))
	// Leaving pods serve until they are gone. So a drain loses no progress, and makes none.
	available += min(max(0, int(next.MostAvailable)-available), r.countAvailable(r.leavingFrom(newSide)))
	if available > int(next.MostAvailable) || available >= due || !r.waitsForUpdated(available) {
		next.MostAvailable, next.SpentSeconds, next.Since = int32(min(available, due)), 0, nil
	}
	runs := available < due && r.waitsForUpdated(available) && !r.isSuspended()
	// A client that may write the status may write any value here.
	next.SpentSeconds = max(0, next.SpentSeconds)
	spent := min(time.Duration(next.SpentSeconds)*time.Second, deadline)
	if next.Since != nil {
		spent += min(max(0, r.Now.Sub(next.Since.Time)), deadline)
	}
	switch {
	case runs && spent >= deadline:
		next.SpentSeconds, next.Since = int32(deadline/time.Second), nil
	case !runs && next.Since != nil:
		// The deadline can pass only while the clock runs, so that a status that records a passed deadline also reports it.
		next.SpentSeconds, next.Since = int32(max(0, min(spent, deadline-time.Second))/time.Second), nil
	case runs && next.Since == nil:
		next.Since = WholeSecond(r.Now)
	}
	p.DeadlineExceeded = runs && next.Since == nil
	if next.Since != nil {
		p.Again = p.Again.Sooner(requeue.After(r.Now, deadline-spent, requeue.RequeueDeadline))
	}
}

// waitsForUpdated reports whether the rollout waits for updated pods to become available. It returns false if the rollout waits for something else:
// old pods use up maxUnavailable, other pods have to be gone first, or the API server refuses new pods.
func (r *State) waitsForUpdated(available int) bool {
	return len(r.UpdatedPods)+r.unreplaced > available
}

// isSuspended reports whether the user, failures or an obstacle keep the rollout from continuing.
func (r *State) isSuspended() bool {
	return r.Manager.Spec.Paused || r.Manager.Strategy() == v1.OnDeleteStrategy || r.IsHalted() || r.Obstacle != ""
}

// hasSlowPod reports whether an updated pod is failing, or is unavailable although it runs on a node that is not lost. Pods without a node indicate a
// lack of capacity, not a problem with their revision.
func (r *State) hasSlowPod() bool {
	return r.failing() > 0 || slices.ContainsFunc(r.UpdatedPods, func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName != "" && !health.IsCutOff(pod) && !health.IsAvailable(pod, r.Manager.MinReady(), r.Now)
	})
}

// countServing returns how many updated pods are available and not being updated in place. It counts only once for each State, because it has to
// decode the records of all updated pods.
func (r *State) countServing(isAvailable func(pod *corev1.Pod) bool) int {
	if r.serving == nil {
		r.serving = new(int)
		for _, pod := range r.UpdatedPods {
			if isAvailable(pod) && !inplace.IsUpdating(pod) {
				*r.serving++
			}
		}
	}
	return *r.serving
}

// failedRevision returns the name of the revision that has failed and is rolled back, or empty if there is none. The status contains it before any
// pod is rolled back. Otherwise a controller that restarts halfway would find no failing pod, and would start the rollout over.
func (r *State) failedRevision(p Progress) string {
	update := r.Revisions.Update.Name
	switch {
	case r.RolledBack:
		return update
	case r.mayRollBack() && r.isRolling() && (p.RecoveryExpired || p.DeadlineExceeded && r.hasSlowPod()):
		return update
	default:
		return ""
	}
}
