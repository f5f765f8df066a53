package rollout

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// A pod of a new revision is failing from its first own failure until it has been ready for recoveryTime. The status keeps a
// record of each failing pod, with times of the controller's clock: the clock of a node may be wrong, and the container statuses of a
// recovered pod show its crashes for ever.

// maxFailingPods bounds status.rollout.failing.
const maxFailingPods = 100

// minProbation is how long the replacement of a failed pod counts as failing at the least.
const minProbation = time.Minute

// Judgement is the record of a pod that has failed, as the status keeps it.
type Judgement struct {
	v1.FailingPod
	// wait is how long it is until the record changes without an event; zero for never.
	wait time.Duration
}

// findFailing finds the failing pods of the new revision. A finished pod cannot recover: it counts until it is replaced, or finished
// long ago, or all due pods are updated. A pod that its node has stopped does not count.
func (r *State) findFailing(finished []*corev1.Pod) {
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
	complete := len(r.UpdatedPods) >= r.Manager.DesiredReplicas()-r.Manager.Partition()
	for _, retry := range slices.Concat(retries.Waiting, retries.Due) {
		r.unreplaced++
		if !complete && health.IsOwnFailure(retry.Pod) && untilForgotten(retry.Pod, r.Now) > 0 {
			r.FailingPods, r.judged[retry.Pod.UID] = append(r.FailingPods, retry.Pod), r.judgeFinished(retry.Pod)
		}
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
	case !podstate.IsReady(pod) || recorded && crashes > record.Crashes:
		record.ReadySince = nil
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

// recordOf is the record of a pod in the status; a new record, and false, if there is none.
func (r *State) recordOf(pod *corev1.Pod) (v1.FailingPod, bool) {
	if !r.hasRolloutRecord() {
		return r.newRecord(pod), false
	}
	for _, record := range r.Manager.Status.Rollout.Failing {
		// A record from before the pod was last updated in place is about another revision, and only left because no status was written since.
		if record.UID == pod.UID && !inplace.UpdatedAt(pod).After(record.Since.Time) {
			return record, true
		}
	}
	return r.newRecord(pod), false
}

// hasRolloutRecord tells whether the status has a record of this rollout.
func (r *State) hasRolloutRecord() bool {
	record := r.Manager.Status.Rollout
	return record != nil && record.Revision == r.Revisions.Update.Name
}

func (r *State) newRecord(pod *corev1.Pod) v1.FailingPod {
	return v1.FailingPod{Name: pod.Name, UID: pod.UID, Since: *WholeSecond(r.Now)}
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

// untilOutlived is how long it is until the pod has run for long enough after its own crashes and after a failed predecessor; zero if it
// has, or had none. The clock of a node that is ahead makes it longer.
func (r *State) untilOutlived(pod *corev1.Pod, longEnough time.Duration) (wait time.Duration) {
	if replacesFailed(pod) {
		wait = max(0, pod.CreationTimestamp.Add(max(longEnough, minProbation)).Sub(r.Now))
	}
	for status := range podstate.ContainerStatuses(pod) {
		if inplace.Crashes(pod, status) > 0 {
			wait = max(wait, untilContainerOutlived(status, longEnough, r.Now))
		}
	}
	return wait
}

// replacesFailed tells whether the pod was created in place of one that failed with the same revision.
func replacesFailed(pod *corev1.Pod) bool {
	return health.FailuresBefore(pod) > health.DisruptionsBefore(pod) && inplace.CompletedRecord(pod).Revision == ""
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

// WholeSecond is the time as the API server stores it, in whole seconds, rounded up.
func WholeSecond(t time.Time) *metav1.Time {
	return &metav1.Time{Time: t.Add(time.Second - 1).Truncate(time.Second)}
}

// judgements are the judgements that the status keeps, pods that have been failing for longest first. They are kept also where onFailure
// is Continue: the user may change that at any time.
func (r *State) judgements() []Judgement {
	judged := slices.SortedFunc(maps.Values(r.judged), func(a, b Judgement) int {
		return cmp.Or(podstate.FalseFirst(a.Recovered, b.Recovered), a.Since.Compare(b.Since.Time), podstate.ByIndex(a.Name, b.Name),
			cmp.Compare(a.UID, b.UID))
	})
	return judged[:min(len(judged), maxFailingPods)]
}

// failingRecords are the judgements as the status has them.
func (r *State) failingRecords() []v1.FailingPod {
	var records []v1.FailingPod
	for _, judged := range r.judgements() {
		records = append(records, judged.FailingPod)
	}
	return records
}

// HasFailed tells whether the new revision has failed: it was rolled back, or is halted for good.
func (r *State) HasFailed() bool { return r.RolledBack || r.isHaltedForGood() }

// isHaltedForGood tells whether the rollout is halted, and the failing pods have not recovered in time.
func (r *State) isHaltedForGood() bool {
	return r.IsHalted() && r.isRevisionCondemned() && r.Manager.Strategy() != v1.OnDeleteStrategy
}

// isRevisionCondemned tells whether maxFailedPods pods have not recovered in time.
func (r *State) isRevisionCondemned() bool {
	condemned := 0
	for _, judged := range r.judgements() {
		if judged.Condemned {
			condemned++
		}
	}
	return condemned >= min(r.Manager.MaxFailedPods(), maxFailingPods)
}

// Retries are the finished pods of the new revision that have not been replaced. If a pod was disrupted and was not failing before, the
// failures of its predecessors no longer count against the revision.
func (r *State) Retries(finished []*corev1.Pod) health.Retries {
	found := health.FindRetries(r.Revisions.Update, r.UpdatedPods, finished, r.Now)
	for _, list := range [][]health.Retry{found.Waiting, found.Due} {
		for i := range list {
			record, recorded := r.recordOf(list[i].Pod)
			if r.hasRolloutRecord() && !health.IsOwnFailure(list[i].Pod) && (!recorded || record.Recovered) {
				list[i].Disruptions = list[i].Failures
			}
		}
	}
	if r.isRolling() && r.Revisions.Current != nil && !r.hasRolloutRecord() {
		// A replacement would pass for one from before the rollout, and the failure would not count: the record comes first.
		for i := range found.Due {
			found.Due[i].Due = r.Now.Add(recordLag)
		}
		found.Waiting, found.Due = slices.Concat(found.Due, found.Waiting), nil
		slices.SortStableFunc(found.Waiting, func(a, b health.Retry) int { return a.Due.Compare(b.Due) })
	}
	return found
}

// recordLag is how long to wait for the first record of a rollout, which the status of this sync has unless it cannot be written.
const recordLag = time.Second
