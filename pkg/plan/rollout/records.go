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

// The status keeps a record of each failing pod, with times by the controller's clock: the clock of a node may be wrong, and the container statuses
// of a recovered pod show its crashes forever. Failures belong to the revision, not to existing pods: deleting a failing pod does not undo them.

// maxFailingPods limits the length of status.rollout.failing.
const maxFailingPods = 100

// readRecords reads the records from the status, and returns the records that belong to no pod. The record of a pod that is gone passes to its
// replacement, or to any other pod if none is missing.
func (r *State) readRecords(finished []*corev1.Pod) (gone []v1.FailingPod) {
	if !r.hasRolloutRecord() || len(r.Manager.Status.Rollout.Failing) == 0 {
		return nil
	}
	var orphaned []v1.FailingPod
	unreplaced := r.findUnreplaced(finished)
	pods := r.recordablePods(unreplaced)
	for _, record := range r.recordedFailures(pods) {
		switch pod := pods[record.UID]; {
		case pod != nil && inplace.RevisedAt(pod).After(record.Since.Time):
			// The record is about another revision, and is left only because no status was written since the pod's update to the new one.
		case pod != nil && (record.Recovered || !r.leavesLostNode(pod)):
			r.records[record.UID] = record
		case !record.Recovered && (record.ReadySince == nil || r.untilRecovered(record) > 0): // a pod that is gone does not recover any more
			if record = r.startOver(record); pod != nil {
				record.Since = *WholeSecond(r.Now) // the replacement of a pod on a lost node has its own time to become ready
			}
			orphaned = append(orphaned, record)
		}
	}
	return r.inherit(orphaned, unreplaced)
}

// startOver returns the record of a pod that is not ready any more, or gone, without another failure of its own. If the pod was ready after its
// failure, the time to recover starts over.
func (r *State) startOver(record v1.FailingPod) v1.FailingPod {
	if record.ReadySince != nil {
		record.ReadySince, record.Since = nil, *WholeSecond(r.Now)
	}
	return record
}

// recordablePods returns the pods that records can be about, by UID: updated pods, also if they are leaving, and finished pods that have not been
// replaced.
func (r *State) recordablePods(unreplaced []*corev1.Pod) map[types.UID]*corev1.Pod {
	pods := map[types.UID]*corev1.Pod{}
	for _, pod := range slices.Concat(r.UpdatedPods, r.leavingFrom(newSide), unreplaced) {
		pods[pod.UID] = pod
	}
	return pods
}

// findUnreplaced returns the finished pods of the new revision that have not been replaced. If no pod is missing, there are none.
func (r *State) findUnreplaced(finished []*corev1.Pod) (pods []*corev1.Pod) {
	if r.isComplete() {
		return nil
	}
	retries := health.FindRetries(r.Revisions.Update, slices.Concat(r.UpdatedPods, r.leavingFrom(newSide)), finished, r.Now)
	for _, retry := range slices.Concat(retries.Waiting, retries.Due) {
		pods = append(pods, retry.Pod)
	}
	return pods
}

// leavesLostNode reports whether, according to the last status, a pod leaves because its node is lost. The failure of such a pod passes to its
// replacement, because the pod cannot recover there. But if the pod has recovered, its record stays: the node may return.
func (r *State) leavesLostNode(pod *corev1.Pod) bool {
	return slices.Contains(r.leaving, pod) && slices.ContainsFunc(r.Manager.Status.LeavingPods, func(l v1.LeavingPod) bool { return l.Name == pod.Name && l.Cause == v1.LeavingForNodeLoss })
}

// inherit passes the records of pods that are gone to their replacements, even those that have finished themselves. If no pod is missing, other pods
// stand in for the replacements. It returns the records that no pod inherits.
func (r *State) inherit(orphaned []v1.FailingPod, unreplaced []*corev1.Pod) (gone []v1.FailingPod) {
	if len(orphaned) == 0 {
		return nil
	}
	candidates := slices.DeleteFunc(slices.Concat(r.UpdatedPods, unreplaced), podstate.IsUnmanaged)
	replacements := map[types.UID]*corev1.Pod{}
	for _, pod := range candidates {
		for _, uid := range health.Replaces(pod) {
			replacements[uid] = pod
		}
	}
	for _, record := range orphaned {
		switch heir := replacements[record.UID]; {
		case heir == nil:
			gone = append(gone, record)
		case r.hasNoRecord(heir): // otherwise the replacement has failed itself: the two count once, and are over together
			r.pass(record, heir)
		}
	}
	if len(gone) == 0 || !r.isComplete() && r.missing() > 0 {
		return gone
	}
	others := r.withoutRecord(candidates)
	passed := min(len(gone), len(others))
	for i := range passed {
		r.pass(gone[i], others[i])
	}
	return gone[passed:]
}

// pass passes the record of a pod that is gone to another pod.
func (r *State) pass(record v1.FailingPod, heir *corev1.Pod) {
	record.Name, record.UID, record.Crashes = heir.Name, heir.UID, 0
	r.records[record.UID] = record
}

// isComplete reports whether all pods that should have the new revision have it.
func (r *State) isComplete() bool { return len(r.UpdatedPods) >= r.DesiredUpdated() }

// withoutRecord returns those of the pods that have no record, the newest first.
func (r *State) withoutRecord(pods []*corev1.Pod) []*corev1.Pod {
	others := slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return !r.hasNoRecord(pod) })
	slices.SortFunc(others, func(a, b *corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), podstate.ByIndex(a.Name, b.Name))
	})
	return others
}

// isFailing reports whether a pod has a record and has not recovered.
func (r *State) isFailing(pod *corev1.Pod) bool {
	record, found := r.records[pod.UID]
	return found && !record.Recovered
}

// CountsAsFailing reports whether a pod, which may be gone, has failed and not recovered.
func (r *State) CountsAsFailing(uid types.UID) bool {
	judged, found := r.failures[uid]
	return found && !judged.Recovered
}

// hasNoRecord reports whether the pod has no record.
func (r *State) hasNoRecord(pod *corev1.Pod) bool {
	_, found := r.records[pod.UID]
	return !found
}

// hasRolloutRecord reports whether the status has a record of this rollout.
func (r *State) hasRolloutRecord() bool {
	record := r.Manager.Status.Rollout
	return record != nil && record.Revision == r.Revisions.Update.Name
}

func (r *State) newRecord(pod *corev1.Pod) v1.FailingPod {
	return v1.FailingPod{Name: pod.Name, UID: pod.UID, Since: *WholeSecond(r.Now)}
}

// failing returns how many pods have failed and not recovered, including deleted pods.
func (r *State) failing() (count int) {
	for _, judged := range r.failures {
		if !judged.Recovered {
			count++
		}
	}
	return count
}

// sortedFailures returns the failure records that the status keeps, pods that have been failing longest first. The records are kept even if onFailure
// is Continue, because the user may change onFailure at any time.
func (r *State) sortedFailures() []FailureRecord {
	judged := slices.SortedFunc(maps.Values(r.failures), func(a, b FailureRecord) int {
		return cmp.Or(podstate.FalseFirst(a.Recovered, b.Recovered), a.Since.Compare(b.Since.Time), podstate.ByIndex(a.Name, b.Name),
			cmp.Compare(a.UID, b.UID))
	})
	return judged[:min(len(judged), maxFailingPods)]
}

// failingRecords returns the records of sortedFailures in the form that the status has.
func (r *State) failingRecords() []v1.FailingPod {
	var records []v1.FailingPod
	for _, judged := range r.sortedFailures() {
		records = append(records, judged.FailingPod)
	}
	return records
}

// WholeSecond returns the time in whole seconds, as the API server stores it, rounded up.
func WholeSecond(t time.Time) *metav1.Time {
	return &metav1.Time{Time: t.Add(time.Second - 1).Truncate(time.Second)}
}
