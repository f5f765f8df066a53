package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// A pod of a new revision is failing from its first own failure until it has been ready for recoveryTime. If it is deleted before that, its failure
// counts until a replacement has been ready for as long. records.go has what the status records about it.

// FailureRecord is the record of a pod that has failed, as the status keeps it.
type FailureRecord struct {
	v1.FailingPod
	// wait is the time until the record changes without an event; zero means never.
	wait time.Duration
}

// findFailing finds the failing pods of the new revision. A finished pod cannot recover: once the status has a record of it, it counts until it is
// replaced. Without a record, it counts for MaxBackOff, and only while a pod is missing. A disrupted pod does not count. If a leaving pod has a record,
// the pod keeps it, because its node may be uncordoned. The replacement does not inherit the record, so that the failure counts once. A leaving pod
// gets no new record.
func (r *State) findFailing(finished []*corev1.Pod) {
	r.Gone = r.readRecords(finished)
	for _, record := range r.Gone {
		judged := FailureRecord{FailingPod: record}
		if !slices.ContainsFunc(r.leaving, func(pod *corev1.Pod) bool { return pod.UID == record.UID }) { // otherwise its time to recover has not begun
			judged.Condemned = record.Condemned || r.untilRecoveryExpires(record) <= 0
			judged.wait = max(0, r.untilRecoveryExpires(record))
		}
		r.failures[record.UID] = judged
	}
	for _, pod := range slices.Concat(r.UpdatedPods, slices.DeleteFunc(r.leavingFrom(newSide), r.hasNoRecord)) {
		judged, found := r.AssessFailure(pod)
		if !found {
			continue
		}
		if r.failures[pod.UID] = judged; !judged.Recovered {
			r.FailingPods = append(r.FailingPods, pod)
		}
	}
	retries := r.Retries(r.Revisions.Update, finished)
	for _, retry := range slices.Concat(retries.Waiting, retries.Due) {
		r.unreplaced++
		switch {
		case r.isFailing(retry.Pod):
		case r.countsAgainst(retry.Pod):
			r.Unrecorded = append(r.Unrecorded, retry)
		default:
			continue
		}
		r.FailingPods, r.failures[retry.Pod.UID] = append(r.FailingPods, retry.Pod), r.assessFinished(retry.Pod)
	}
}

// AssessFailure assesses an active pod. It returns false if there is nothing to record. A pod that the controller did not create says nothing about the
// revision that it counts for.
func (r *State) AssessFailure(pod *corev1.Pod) (FailureRecord, bool) {
	record, recorded := r.records[pod.UID]
	failsAgain := recorded && record.Recovered && (inplace.AllCrashes(pod) > record.Crashes || hasOwnTrouble(pod))
	switch {
	case podstate.IsUnmanaged(pod):
		return FailureRecord{}, false
	case recorded && !record.Recovered:
		return r.assessFailing(pod, record), true
	case recorded && !failsAgain:
		return FailureRecord{record, r.untilRecordExpires(pod)}, r.untilRecordExpires(pod) > 0
	case hasOwnTrouble(pod):
		return r.assessFailing(pod, r.newRecord(pod)), true
	case podstate.Disruption(pod) != "" || !podstate.HasObserved(pod):
		return FailureRecord{}, false
	case r.crashWindowRemaining(pod, r.recoveryTime()) == 0 || !r.hasRolloutRecord():
		// The pod has outlived its crashes, or crashed before the rollout.
		record = r.newRecord(pod)
		record.Crashes, record.Recovered = inplace.AllCrashes(pod), true
		return FailureRecord{record, r.untilRecordExpires(pod)}, r.untilRecordExpires(pod) > 0
	default:
		return r.assessFailing(pod, r.newRecord(pod)), true
	}
}

// assessFailing assesses a pod that has failed and not recovered, as far as its record shows.
func (r *State) assessFailing(pod *corev1.Pod, record v1.FailingPod) FailureRecord {
	crashes, isReady := inplace.AllCrashes(pod), podstate.IsReady(pod)
	switch {
	case crashes > record.Crashes, !isReady && hasOwnTrouble(pod): // it may not have been restarted yet
		record.ReadySince = nil
	case isOutOfReach(pod):
		// No kubelet can make the pod ready: its time to recover has not begun.
		record.ReadySince, record.Since = nil, *WholeSecond(r.Now)
		return FailureRecord{FailingPod: record}
	case !isReady:
		record = r.startOver(record)
	}
	record.Crashes = crashes
	if isReady && record.ReadySince == nil {
		record.ReadySince = WholeSecond(r.Now)
	}
	record.Condemned = record.Condemned || !isReady && r.untilRecoveryExpires(record) <= 0
	return r.assessRecovery(pod, record)
}

// isOutOfReach reports whether no node has room for a pod, or its node is lost. A pod that has yet to be scheduled is not out of reach: otherwise a
// client that keeps deleting failing pods would prevent the rollback.
func isOutOfReach(pod *corev1.Pod) bool {
	scheduled := podstate.Condition(pod, corev1.PodScheduled)
	return scheduled != nil && scheduled.Status == corev1.ConditionFalse || health.IsCutOff(pod)
}

// assessRecovery assesses a failing pod that may just have recovered.
func (r *State) assessRecovery(pod *corev1.Pod, record v1.FailingPod) FailureRecord {
	judged := FailureRecord{FailingPod: record}
	if !record.Condemned {
		judged.wait = max(0, r.untilRecoveryExpires(record))
	}
	switch {
	case record.ReadySince == nil:
	case r.untilRecovered(record) > 0:
		judged.wait = requeue.Sooner(judged.wait, r.untilRecovered(record))
	default:
		judged.Recovered, judged.Condemned, judged.ReadySince, judged.wait = true, false, nil, r.untilRecordExpires(pod)
	}
	return judged
}

// assessFinished assesses a finished pod, which cannot recover.
func (r *State) assessFinished(pod *corev1.Pod) FailureRecord {
	record, recorded := r.records[pod.UID]
	switch {
	case !recorded || record.Recovered:
		record = r.newRecord(pod)
	case health.IsOwnFailure(pod):
		record.ReadySince = nil
	default:
		record = r.startOver(record)
	}
	record.Condemned = r.untilRecoveryExpires(record) <= 0
	return FailureRecord{record, max(0, r.untilRecoveryExpires(record))}
}

// untilRecoveryExpires returns how long a failing pod may still take to become ready. untilRecovered returns how long it still has to stay ready to
// recover.
func (r *State) untilRecoveryExpires(record v1.FailingPod) time.Duration {
	return record.Since.Add(r.Manager.FailureGrace()).Sub(r.Now)
}

func (r *State) untilRecovered(record v1.FailingPod) time.Duration {
	if r.recoveryTime() == 0 {
		return 0
	}
	return record.ReadySince.Add(r.recoveryTime()).Sub(r.Now)
}

// recoveryTime returns how long a failing pod has to be ready before it counts as recovered.
func (r *State) recoveryTime() time.Duration { return r.Manager.MinReady() + r.Manager.FailureGrace() }

// untilRecordExpires returns how much longer the record of a recovered pod is kept: as long as its crashes could be mistaken for new ones, and at
// least for MaxBackOff, in case the user raises minReadySeconds or the grace period.
func (r *State) untilRecordExpires(pod *corev1.Pod) time.Duration {
	return r.crashWindowRemaining(pod, max(r.recoveryTime(), health.MaxBackOff))
}

// untilFailuresChange returns the time until the record of a failure changes without an event; zero means never.
func (r *State) untilFailuresChange() (wait time.Duration) {
	for _, judged := range r.sortedFailures() {
		wait = requeue.Sooner(wait, judged.wait)
	}
	for _, pod := range r.FailingPods {
		if podstate.IsFinished(pod) {
			wait = requeue.Sooner(wait, untilForgotten(pod, r.Now))
		}
	}
	return wait
}

// untilForgotten returns how much longer a finished pod counts as failing.
func untilForgotten(pod *corev1.Pod, now time.Time) time.Duration {
	return max(0, podstate.FinishedAt(pod, now).Add(health.MaxBackOff).Sub(now))
}

// hasOwnTrouble reports whether a container of the pod has trouble that counts against the revision. Disruptions do not count, nor does anything
// before the kubelet has observed the pod's spec.
func hasOwnTrouble(pod *corev1.Pod) bool {
	if podstate.Disruption(pod) != "" || !podstate.HasObserved(pod) {
		return false
	}
	for status := range podstate.ContainerStatuses(pod) {
		if inplace.HasOwnTrouble(pod, status) {
			return true
		}
	}
	return false
}

// crashWindowRemaining returns the time until the pod has run long enough after its own crashes. It is zero if the pod already has, or never crashed.
func (r *State) crashWindowRemaining(pod *corev1.Pod, longEnough time.Duration) (wait time.Duration) {
	for status := range podstate.ContainerStatuses(pod) {
		if inplace.Crashes(pod, status) > 0 {
			wait = max(wait, r.containerCrashWindow(pod, status, longEnough))
		}
	}
	return wait
}

// containerCrashWindow returns how long the container still has to run, or to stay completed, to outlive its crashes.
func (r *State) containerCrashWindow(pod *corev1.Pod, status *corev1.ContainerStatus, longEnough time.Duration) time.Duration {
	until := func(reported metav1.Time) time.Duration {
		return max(0, podstate.ServerTime(pod, reported.Time).Add(longEnough).Sub(r.Now))
	}
	switch running, terminated := status.State.Running, status.State.Terminated; {
	case running != nil && longEnough == 0, terminated != nil && terminated.ExitCode == 0 && longEnough == 0:
		return 0
	case running != nil:
		return until(running.StartedAt)
	case terminated != nil && terminated.ExitCode == 0:
		return until(terminated.FinishedAt)
	default:
		return max(longEnough, time.Second)
	}
}

// HasFailed reports whether the new revision has failed: it was rolled back, or is halted for good and will not be rolled back. If the user chooses
// rollbacks during a pause, a revision that is marked as failed stays so, because it is rolled back when the pause ends.
func (r *State) HasFailed() bool {
	waits := r.isRolling() && r.Manager.Spec.Paused && r.Manager.OnFailure() == v1.RollbackOnFailure && r.Revisions.IsMarkedFailed()
	return r.RolledBack || waits || r.isHaltedForGood() && r.Manager.OnFailure() == v1.HaltOnFailure
}

// isHaltedForGood reports whether the rollout is halted, and the failing pods have not recovered in time.
func (r *State) isHaltedForGood() bool {
	return r.IsHalted() && r.isRecoveryExpired() && r.Manager.Strategy() != v1.OnDeleteStrategy
}

// isRecoveryExpired reports whether failureThreshold pods have not recovered in time.
func (r *State) isRecoveryExpired() bool {
	condemned := 0
	for _, judged := range r.sortedFailures() {
		if judged.Condemned {
			condemned++
		}
	}
	return condemned >= min(r.Manager.FailureThreshold(), maxFailingPods)
}

// Retries returns the finished pods of a revision that have not been replaced. During a rollout, a pod that counts against the new revision waits until
// the status has a record of it, because its replacement inherits that record.
func (r *State) Retries(revision *history.Revision, finished []*corev1.Pod) health.Retries {
	if revision != r.Revisions.Update {
		return health.FindRetries(revision, slices.Concat(r.OldPods, r.leavingFrom(oldSide)), finished, r.Now)
	}
	found := health.FindRetries(revision, slices.Concat(r.UpdatedPods, r.leavingFrom(newSide)), finished, r.Now)
	due := found.Due
	found.Due = nil
	for _, retry := range due {
		if !r.isFailing(retry.Pod) && r.isRolling() && r.countsAgainst(retry.Pod) {
			retry.Due = r.Now.Add(recordLag)
			found.Waiting = append(found.Waiting, retry)
		} else {
			found.Due = append(found.Due, retry)
		}
	}
	slices.SortStableFunc(found.Waiting, func(a, b health.Retry) int { return a.Due.Compare(b.Due) })
	return found
}

// countsAgainst reports whether a finished pod counts against the new revision: it failed on its own, not long ago, and a pod is missing.
func (r *State) countsAgainst(finished *corev1.Pod) bool {
	return !r.isComplete() && health.IsOwnFailure(finished) && untilForgotten(finished, r.Now) > 0
}

// recordLag is how long to wait for the record of a failure. The status of this sync has the record unless it cannot be written.
const recordLag = time.Second
