package rollout

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// A pod of a new revision is failing from its first own failure until it has been ready for recoveryTime. If it is gone before, its failure
// counts until a replacement has been ready for as long. records.go has what the status remembers of it.

// Judgement is the record of a pod that has failed, as the status keeps it.
type Judgement struct {
	v1.FailingPod
	// wait is how long it is until the record changes without an event; zero for never.
	wait time.Duration
}

// findFailing finds the failing pods of the new revision. A finished pod cannot recover: it counts until it is replaced, or finished
// long ago, or all due pods are updated. A pod that its node has stopped does not count.
func (r *State) findFailing(finished []*corev1.Pod) {
	for _, record := range r.readRecords(finished) {
		record.Condemned = record.Condemned || r.untilCondemned(record) <= 0
		r.judged[record.UID], r.GonePods = Judgement{record, max(0, r.untilCondemned(record))}, append(r.GonePods, record.Name)
	}
	for _, pod := range r.UpdatedPods {
		judged, found := r.Judge(pod)
		if !found {
			continue
		}
		if r.judged[pod.UID] = judged; !judged.Recovered {
			r.FailingPods = append(r.FailingPods, pod)
		}
	}
	retries := r.Retries(finished)
	for _, retry := range slices.Concat(retries.Waiting, retries.Due) {
		r.unreplaced++
		switch {
		case r.isFailing(retry.Pod):
		case r.countsAgainst(retry.Pod):
			r.Unrecorded = append(r.Unrecorded, retry)
		default:
			continue
		}
		r.FailingPods, r.judged[retry.Pod.UID] = append(r.FailingPods, retry.Pod), r.judgeFinished(retry.Pod)
	}
}

// Judge judges an active pod; false if there is nothing to record. A pod that was created by hand tells nothing about the revision that
// it counts for.
func (r *State) Judge(pod *corev1.Pod) (Judgement, bool) {
	if podstate.IsMadeByHand(pod) {
		return Judgement{}, false
	}
	record, recorded := r.recordOf(pod)
	crashes, untilOutlived := inplace.AllCrashes(pod), r.untilOutlived(pod, r.recoveryTime())
	if record.Recovered && (crashes > record.Crashes || hasOwnTrouble(pod)) {
		record, recorded = r.newRecord(pod), false
	}
	switch {
	case record.Recovered:
		return Judgement{record, r.untilRecordExpires(pod)}, r.untilRecordExpires(pod) > 0
	case !recorded && !hasOwnTrouble(pod) && (podstate.Disruption(pod) != "" || !podstate.HasObserved(pod)):
		return Judgement{}, false
	case !recorded && !hasOwnTrouble(pod) && (untilOutlived == 0 || !r.hasRolloutRecord()):
		// The pod has outlived its crashes, or crashed before the rollout.
		record.Crashes, record.Recovered = crashes, true
		return Judgement{record, r.untilRecordExpires(pod)}, r.untilRecordExpires(pod) > 0
	case recorded && crashes > record.Crashes, !podstate.IsReady(pod) && hasOwnTrouble(pod): // it may be yet to be restarted
		record.ReadySince = nil
	case !podstate.IsReady(pod) && record.ReadySince != nil:
		// It was ready after its crash, and has not crashed again: it has the time to recover anew.
		record.ReadySince, record.Since = nil, *WholeSecond(r.Now)
	}
	record.Crashes = crashes
	if podstate.IsReady(pod) && record.ReadySince == nil {
		record.ReadySince = WholeSecond(r.Now)
	}
	record.Condemned = record.Condemned || !podstate.IsReady(pod) && r.untilCondemned(record) <= 0
	return r.judgeRecovery(pod, record), true
}

// judgeRecovery judges a failing pod that may just have recovered.
func (r *State) judgeRecovery(pod *corev1.Pod, record v1.FailingPod) Judgement {
	judged := Judgement{FailingPod: record}
	if !record.Condemned {
		judged.wait = max(0, r.untilCondemned(record))
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

// judgeFinished judges a finished pod, which cannot recover.
func (r *State) judgeFinished(pod *corev1.Pod) Judgement {
	record, _ := r.recordOf(pod)
	if record.Recovered {
		record = r.newRecord(pod)
	}
	record.Condemned = r.untilCondemned(record) <= 0
	return Judgement{record, max(0, r.untilCondemned(record))}
}

// untilCondemned is how long a failing pod may still take to become ready, and untilRecovered how long it has to stay ready to recover.
func (r *State) untilCondemned(record v1.FailingPod) time.Duration {
	return record.Since.Add(r.Manager.FailureGrace()).Sub(r.Now)
}

func (r *State) untilRecovered(record v1.FailingPod) time.Duration {
	if r.recoveryTime() == 0 {
		return 0
	}
	return record.ReadySince.Add(r.recoveryTime()).Sub(r.Now)
}

// recoveryTime is how long a failing pod has to be ready until it has recovered.
func (r *State) recoveryTime() time.Duration { return r.Manager.MinReady() + r.Manager.FailureGrace() }

// untilRecordExpires is how much longer the record of a recovered pod is kept: for as long as its crashes could pass for new ones, and for
// MaxBackOff at the least, in case the user raises minReadySeconds or the grace period.
func (r *State) untilRecordExpires(pod *corev1.Pod) time.Duration {
	return r.untilOutlived(pod, max(r.recoveryTime(), health.MaxBackOff))
}

// untilJudged is how long it is until a judgement changes without an event; zero for never.
func (r *State) untilJudged() (wait time.Duration) {
	for _, judged := range r.judgements() {
		wait = requeue.Sooner(wait, judged.wait)
	}
	for _, pod := range r.FailingPods {
		if podstate.IsFinished(pod) {
			wait = requeue.Sooner(wait, untilForgotten(pod, r.Now))
		}
	}
	return wait
}

// untilForgotten is how much longer a finished pod counts as failing.
func untilForgotten(pod *corev1.Pod, now time.Time) time.Duration {
	return max(0, podstate.FinishedAt(pod, now).Add(health.MaxBackOff).Sub(now))
}

// hasOwnTrouble tells whether a container of the pod is in trouble that counts against the revision. Disruptions do not count, nor does
// anything before the kubelet has observed the pod's spec.
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

// untilOutlived is how long it is until the pod has run for long enough after its own crashes; zero if it has, or had none. It is longer if
// the node's clock is ahead.
func (r *State) untilOutlived(pod *corev1.Pod, longEnough time.Duration) (wait time.Duration) {
	for status := range podstate.ContainerStatuses(pod) {
		if inplace.Crashes(pod, status) > 0 {
			wait = max(wait, untilContainerOutlived(status, longEnough, r.Now))
		}
	}
	return wait
}

// untilContainerOutlived is how long the container still has to run, or to stay completed, until it has outlived its crashes.
func untilContainerOutlived(status *corev1.ContainerStatus, longEnough time.Duration, now time.Time) time.Duration {
	switch running, terminated := status.State.Running, status.State.Terminated; {
	case running != nil && longEnough == 0, terminated != nil && terminated.ExitCode == 0 && longEnough == 0:
		return 0
	case running != nil:
		return max(0, running.StartedAt.Add(longEnough).Sub(now))
	case terminated != nil && terminated.ExitCode == 0:
		return max(0, terminated.FinishedAt.Add(longEnough).Sub(now))
	default:
		return max(longEnough, time.Second)
	}
}

// HasFailed reports whether the new revision has failed: it was rolled back, or is halted for good and will not be rolled back.
func (r *State) HasFailed() bool {
	return r.RolledBack || r.isHaltedForGood() && r.Manager.OnFailure() == v1.HaltOnFailure
}

// isHaltedForGood tells whether the rollout is halted, and the failing pods have not recovered in time.
func (r *State) isHaltedForGood() bool {
	return r.IsHalted() && r.isRevisionCondemned() && r.Manager.Strategy() != v1.OnDeleteStrategy
}

// isRevisionCondemned reports whether failureThreshold pods have not recovered in time.
func (r *State) isRevisionCondemned() bool {
	condemned := 0
	for _, judged := range r.judgements() {
		if judged.Condemned {
			condemned++
		}
	}
	return condemned >= min(r.Manager.FailureThreshold(), maxFailingPods)
}

// Retries are the finished pods of the new revision that have not been replaced. One that counts against the revision is replaced once the
// status has a record of it: the record is what its replacement inherits.
func (r *State) Retries(finished []*corev1.Pod) health.Retries {
	found := health.FindRetries(r.Revisions.Update, r.UpdatedPods, finished, r.Now)
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

// countsAgainst reports whether a finished pod counts against the new revision: it has failed by itself, not long ago, and a pod is missing.
func (r *State) countsAgainst(finished *corev1.Pod) bool {
	return !r.isComplete() && health.IsOwnFailure(finished) && untilForgotten(finished, r.Now) > 0
}

// recordLag is how long to wait for the record of a failure, which the status of this sync has unless it cannot be written.
const recordLag = time.Second
