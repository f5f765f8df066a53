package rollout

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// The status keeps a record of each failing pod, with times of the controller's clock: the clock of a node may be wrong, and the container
// statuses of a recovered pod show its crashes for ever. Failures are those of the revision, not of living pods: to delete a failing pod
// does not undo them.

// maxFailingPods bounds status.rollout.failing.
const maxFailingPods = 100

// readRecords reads the records of the status, and returns those that no pod has. The record of a pod that is gone passes to a replacement:
// a pod that was created since the failure, or any other if none is missing.
func (r *State) readRecords(finished []*corev1.Pod) (gone []v1.FailingPod) {
	if !r.hasRolloutRecord() || len(r.Manager.Status.Rollout.Failing) == 0 {
		return nil
	}
	pods := map[types.UID]*corev1.Pod{}
	for _, pod := range r.UpdatedPods {
		pods[pod.UID] = pod
	}
	retries := health.FindRetries(r.Revisions.Update, r.UpdatedPods, finished, r.Now)
	for _, retry := range slices.Concat(retries.Waiting, retries.Due) { // those that have not been replaced
		if !r.isComplete() {
			pods[retry.Pod.UID] = retry.Pod
		}
	}
	var orphaned []v1.FailingPod
	for _, record := range r.Manager.Status.Rollout.Failing {
		switch pod := pods[record.UID]; {
		case pod == nil && !record.Recovered && (record.ReadySince == nil || r.untilRecovered(record) > 0):
			orphaned = append(orphaned, record)
		case pod != nil && !inplace.UpdatedAt(pod).After(record.Since.Time):
			r.records[record.UID] = record
		} // A record from before the pod was last updated in place is about another revision, and only left because no status was written since.
	}
	if len(orphaned) == 0 {
		return nil
	}
	heirs := r.heirs()
	for _, record := range orphaned {
		isLater := len(heirs) > 0 && heirs[0].CreationTimestamp.After(record.Since.Add(-2*time.Second)) // whole seconds, rounded down and up
		if !isLater && (len(heirs) == 0 || !r.isComplete()) {
			gone = append(gone, record)
			continue
		}
		record.Name, record.UID, record.Crashes, record.ReadySince = heirs[0].Name, heirs[0].UID, 0, nil
		r.records[record.UID], heirs = record, heirs[1:]
	}
	return gone
}

// isComplete reports whether all pods that are to have the new revision do.
func (r *State) isComplete() bool { return len(r.UpdatedPods) >= r.DesiredUpdated() }

// heirs are the updated pods without a record of their own, the newest first; of those, first the ones made in place of a failed pod.
func (r *State) heirs() []*corev1.Pod {
	var heirs []*corev1.Pod
	for _, pod := range r.UpdatedPods {
		if _, found := r.records[pod.UID]; !found && !podstate.IsMadeByHand(pod) {
			heirs = append(heirs, pod)
		}
	}
	replacesFailed := func(pod *corev1.Pod) bool { return health.FailuresBefore(pod) > health.DisruptionsBefore(pod) }
	slices.SortFunc(heirs, func(a, b *corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), -podstate.FalseFirst(replacesFailed(a), replacesFailed(b)),
			podstate.ByIndex(a.Name, b.Name))
	})
	return heirs
}

// recordOf is the record of a pod; a new record, and false, if there is none.
func (r *State) recordOf(pod *corev1.Pod) (v1.FailingPod, bool) {
	if record, found := r.records[pod.UID]; found {
		return record, true
	}
	return r.newRecord(pod), false
}

// isFailing reports whether a pod has a record, and has not recovered.
func (r *State) isFailing(pod *corev1.Pod) bool {
	record, found := r.records[pod.UID]
	return found && !record.Recovered
}

// hasRolloutRecord reports whether the status has a record of this rollout.
func (r *State) hasRolloutRecord() bool {
	record := r.Manager.Status.Rollout
	return record != nil && record.Revision == r.Revisions.Update.Name
}

func (r *State) newRecord(pod *corev1.Pod) v1.FailingPod {
	return v1.FailingPod{Name: pod.Name, UID: pod.UID, Since: *WholeSecond(r.Now)}
}

// failing is how many pods have failed and not recovered, whether they are still there or not.
func (r *State) failing() (count int) {
	for _, judged := range r.judged {
		if !judged.Recovered {
			count++
		}
	}
	return count
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

// WholeSecond is the time as the API server stores it, in whole seconds, rounded up.
func WholeSecond(t time.Time) *metav1.Time {
	return &metav1.Time{Time: t.Add(time.Second - 1).Truncate(time.Second)}
}
