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

// Retries are the failed pods of the present revision that have not been replaced. One that was disrupted, and was not failing before
// that, excuses those before it: they are over.
func (r *State) Retries(finished []*corev1.Pod) health.Retries {
	found := health.FindRetries(r.Revisions.Update, r.UpdatedPods, finished, r.Now)
	for _, list := range [][]health.Retry{found.Waiting, found.Due} {
		for i := range list {
			if record, known := r.remembered(list[i].Pod); r.isFollowed() && !health.IsOwnFailure(list[i].Pod) && (!known || record.Recovered) {
				list[i].Disruptions = list[i].Failures
			}
		}
	}
	return found
}

// A pod of a new revision is failing from its own first failure until it has been available for as long as it had to recover.
// What is known of that is kept in the status, with times of the controller's own clock: that of a node may be wrong, and a pod
// that has recovered shows its crashes for ever.

// maxFailingPods bounds status.rollout.failing.
const maxFailingPods = 100

// youngFor is how long a pod counts for new at the least.
const youngFor = time.Minute

// Judgement is what is to be remembered of a pod that has failed.
type Judgement struct {
	v1.FailingPod
	// wait is how long it is until the judgement changes although nothing happens to the pod; zero for never.
	wait time.Duration
}

// Judge judges a pod that runs, or is to; false if there is nothing to be remembered. One that was made by hand tells nothing about
// the revision that it is taken for.
func (r *State) Judge(pod *corev1.Pod) (Judgement, bool) {
	if podstate.IsMadeByHand(pod) {
		return Judgement{}, false
	}
	record, known := r.remembered(pod)
	crashes, behind := inplace.AllCrashes(pod), r.untilOutlived(pod, r.recovery())
	if record.Recovered && (crashes > record.Crashes || hasOwnTrouble(pod)) {
		record, known = r.newRecord(pod), false
	}
	switch {
	case record.Recovered:
		return Judgement{record, r.untilOver(pod)}, r.untilOver(pod) > 0
	case !known && !hasOwnTrouble(pod) && (podstate.Disruption(pod) != "" || !podstate.HasObserved(pod)):
		return Judgement{}, false
	case !known && !hasOwnTrouble(pod) && (behind == 0 || !r.isFollowed()): // it has outlived its crashes, or they were before the rollout
		record.Crashes, record.Recovered = crashes, true
		return Judgement{record, r.untilOver(pod)}, r.untilOver(pod) > 0
	case !podstate.IsReady(pod) || known && crashes > record.Crashes:
		record.ReadySince = nil
	}
	record.Crashes = crashes
	if podstate.IsReady(pod) && record.ReadySince == nil {
		record.ReadySince = WholeSecond(r.Now)
	}
	record.Condemned = record.Condemned || !podstate.IsReady(pod) && r.untilCondemned(record) <= 0
	return r.unlessRecovered(pod, record), true
}

// unlessRecovered is the judgement of a pod that is failing, or has just recovered.
func (r *State) unlessRecovered(pod *corev1.Pod, record v1.FailingPod) Judgement {
	judged := Judgement{FailingPod: record}
	if !record.Condemned {
		judged.wait = max(0, r.untilCondemned(record))
	}
	switch {
	case record.ReadySince == nil:
	case r.untilRecovered(record) > 0:
		judged.wait = requeue.Sooner(judged.wait, r.untilRecovered(record))
	default:
		judged.Recovered, judged.Condemned, judged.ReadySince, judged.wait = true, false, nil, r.untilOver(pod)
	}
	return judged
}

// judgeFinished is the same for a pod that has finished, which cannot recover.
func (r *State) judgeFinished(pod *corev1.Pod) Judgement {
	record, _ := r.remembered(pod)
	if record.Recovered {
		record = r.newRecord(pod)
	}
	record.Condemned = r.untilCondemned(record) <= 0
	return Judgement{record, max(0, r.untilCondemned(record))}
}

// remembered is what the status knows of a failing pod; a new record, and false, if that is nothing.
func (r *State) remembered(pod *corev1.Pod) (v1.FailingPod, bool) {
	if !r.isFollowed() {
		return r.newRecord(pod), false
	}
	for _, record := range r.Manager.Status.Rollout.Failing {
		if record.UID == pod.UID {
			return record, true
		}
	}
	return r.newRecord(pod), false
}

// isFollowed tells whether the status has a record of the rollout.
func (r *State) isFollowed() bool {
	last := r.Manager.Status.Rollout
	return last != nil && last.Revision == r.Revisions.Update.Name
}

func (r *State) newRecord(pod *corev1.Pod) v1.FailingPod {
	return v1.FailingPod{Name: pod.Name, UID: pod.UID, Since: *WholeSecond(r.Now)}
}

// untilCondemned is how long a failing pod still has to recover, and untilRecovered how long it still has to stay ready for that.
func (r *State) untilCondemned(record v1.FailingPod) time.Duration {
	return record.Since.Add(r.Manager.FailureGrace()).Sub(r.Now)
}

func (r *State) untilRecovered(record v1.FailingPod) time.Duration {
	if r.recovery() == 0 {
		return 0
	}
	return record.ReadySince.Add(r.recovery()).Sub(r.Now)
}

// recovery is how long a pod that has failed has to be ready to have recovered.
func (r *State) recovery() time.Duration { return r.Manager.MinReady() + r.Manager.FailureGrace() }

// untilOver is for how much longer it is remembered that a pod has recovered: for as long as its crashes could look like new ones,
// also to somebody who is asked to wait for longer.
func (r *State) untilOver(pod *corev1.Pod) time.Duration {
	return r.untilOutlived(pod, max(r.recovery(), health.LastBackOff))
}

// untilJudged is how long it is until a judgement changes although nothing happens; zero for never.
func (r *State) untilJudged() (wait time.Duration) {
	for _, judged := range r.remember() {
		wait = requeue.Sooner(wait, judged.wait)
	}
	for _, pod := range r.FailingPods {
		if podstate.IsFinished(pod) {
			wait = requeue.Sooner(wait, untilForgotten(pod, r.Now))
		}
	}
	return wait
}

// untilForgotten is for how much longer a pod that has finished counts.
func untilForgotten(pod *corev1.Pod, now time.Time) time.Duration {
	return max(0, podstate.FinishedAt(pod, now).Add(health.LastBackOff).Sub(now))
}

// hasOwnTrouble tells whether a container of the pod is in trouble now that counts against the revision. What was done to a pod is
// not its failure, and nothing counts before its node has seen what it is to be.
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

// untilOutlived is how long it is until what the pod has behind it is over, its crashes and its predecessors; zero if it is, or
// there is nothing. Nodes whose clocks are ahead make it longer.
func (r *State) untilOutlived(pod *corev1.Pod, takes time.Duration) (wait time.Duration) {
	if replacesFailed(pod) {
		wait = max(0, pod.CreationTimestamp.Add(max(takes, youngFor)).Sub(r.Now))
	}
	for status := range podstate.ContainerStatuses(pod) {
		if inplace.Crashes(pod, status) > 0 {
			wait = max(wait, untilRunFor(status, takes, r.Now))
		}
	}
	return wait
}

// replacesFailed tells whether the pod was made in the place of one that has failed with the revision that it has.
func replacesFailed(pod *corev1.Pod) bool {
	return health.FailuresBefore(pod) > health.DisruptionsBefore(pod) && inplace.CompletedRecord(pod).Revision == ""
}

// untilRunFor is how long the container still has to run, or to be done with what it had to do, to have outlived its crashes.
func untilRunFor(status *corev1.ContainerStatus, takes time.Duration, now time.Time) time.Duration {
	switch running, terminated := status.State.Running, status.State.Terminated; {
	case running != nil && takes == 0, terminated != nil && terminated.ExitCode == 0 && takes == 0:
		return 0
	case running != nil:
		return max(0, running.StartedAt.Add(takes).Sub(now))
	case terminated != nil && terminated.ExitCode == 0:
		return max(0, terminated.FinishedAt.Add(takes).Sub(now))
	default:
		return max(takes, time.Second)
	}
}

// WholeSecond is the time as the API server will store it: rather too late than too early.
func WholeSecond(t time.Time) *metav1.Time {
	return &metav1.Time{Time: t.Add(time.Second - 1).Truncate(time.Second)}
}

// remember is what the status is to remember, those that have been failing for longest first: also where failures do not matter,
// since that may be changed at any time.
func (r *State) remember() []Judgement {
	judged := slices.SortedFunc(maps.Values(r.judged), func(a, b Judgement) int {
		return cmp.Or(podstate.FalseFirst(a.Recovered, b.Recovered), a.Since.Compare(b.Since.Time), podstate.ByIndex(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return judged[:min(len(judged), maxFailingPods)]
}

// failingRecords is the same as the status has it.
func (r *State) failingRecords() []v1.FailingPod {
	var records []v1.FailingPod
	for _, judged := range r.remember() {
		records = append(records, judged.FailingPod)
	}
	return records
}

// isCondemned tells whether so many pods have had their chance that the revision has.
func (r *State) isCondemned() bool {
	condemned := 0
	for _, judged := range r.remember() {
		if judged.Condemned {
			condemned++
		}
	}
	return condemned >= min(r.Manager.MaxFailedPods(), maxFailingPods)
}

// findFailing finds the pods of the present revision that have failed. One that has finished cannot recover: it counts until
// it is replaced, or was long ago, or no more pods are to be updated. One that its node has stopped does not count.
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
