package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A pod of a new revision is failing from its own first failure until it has been available for as long as it had to recover.
// What is known of that is kept in the status, with times of the controller's own clock: that of a node may be wrong, and a pod
// that has recovered shows its crashes for ever.

// maxFailingPods bounds status.rollout.failing.
const maxFailingPods = 100

// youngFor is how long a pod counts for new at the least.
const youngFor = time.Minute

// judgement is what is to be remembered of a pod that has failed.
type judgement struct {
	v1.FailingPod
	// wait is how long it is until the judgement changes although nothing happens to the pod; zero for never.
	wait time.Duration
}

// judge judges a pod that runs, or is to; false if there is nothing to be remembered. One that was made by hand tells nothing about
// the revision that it is taken for.
func (r *rollout) judge(pod *corev1.Pod) (judgement, bool) {
	if isMadeByHand(pod) {
		return judgement{}, false
	}
	record, known := r.remembered(pod)
	crashes, behind := allCrashes(pod), r.untilOutlived(pod, r.recovery())
	if record.Recovered && (crashes > record.Crashes || hasOwnTrouble(pod)) {
		record, known = r.newRecord(pod), false
	}
	switch {
	case record.Recovered:
		return judgement{record, r.untilOver(pod)}, r.untilOver(pod) > 0
	case !known && !hasOwnTrouble(pod) && (disruption(pod) != "" || !hasObserved(pod)):
		return judgement{}, false
	case !known && !hasOwnTrouble(pod) && (behind == 0 || !r.isFollowed()): // it has outlived its crashes, or they were before the rollout
		record.Crashes, record.Recovered = crashes, true
		return judgement{record, r.untilOver(pod)}, r.untilOver(pod) > 0
	case !isReady(pod) || known && crashes > record.Crashes:
		record.ReadySince = nil
	}
	record.Crashes = crashes
	if isReady(pod) && record.ReadySince == nil {
		record.ReadySince = wholeSecond(r.now)
	}
	record.Condemned = record.Condemned || !isReady(pod) && r.untilCondemned(record) <= 0
	return r.unlessRecovered(pod, record), true
}

// unlessRecovered is the judgement of a pod that is failing, or has just recovered.
func (r *rollout) unlessRecovered(pod *corev1.Pod, record v1.FailingPod) judgement {
	judged := judgement{FailingPod: record}
	if !record.Condemned {
		judged.wait = max(0, r.untilCondemned(record))
	}
	switch {
	case record.ReadySince == nil:
	case r.untilRecovered(record) > 0:
		judged.wait = soonest(judged.wait, r.untilRecovered(record))
	default:
		judged.Recovered, judged.Condemned, judged.ReadySince, judged.wait = true, false, nil, r.untilOver(pod)
	}
	return judged
}

// judgeEnded is the same for a pod that has ended, which cannot recover.
func (r *rollout) judgeEnded(pod *corev1.Pod) judgement {
	record, _ := r.remembered(pod)
	if record.Recovered {
		record = r.newRecord(pod)
	}
	record.Condemned = r.untilCondemned(record) <= 0
	return judgement{record, max(0, r.untilCondemned(record))}
}

// remembered is what the status knows of a failing pod; a new record, and false, if that is nothing.
func (r *rollout) remembered(pod *corev1.Pod) (v1.FailingPod, bool) {
	if !r.isFollowed() {
		return r.newRecord(pod), false
	}
	for _, record := range r.manager.Status.Rollout.Failing {
		if record.UID == pod.UID {
			return record, true
		}
	}
	return r.newRecord(pod), false
}

// isFollowed tells whether the status has a record of the rollout.
func (r *rollout) isFollowed() bool {
	last := r.manager.Status.Rollout
	return last != nil && last.Revision == r.revisions.Update.Name
}

func (r *rollout) newRecord(pod *corev1.Pod) v1.FailingPod {
	return v1.FailingPod{Name: pod.Name, UID: pod.UID, Since: *wholeSecond(r.now)}
}

// untilCondemned is how long a failing pod still has to recover, and untilRecovered how long it still has to stay ready for that.
func (r *rollout) untilCondemned(record v1.FailingPod) time.Duration {
	return record.Since.Add(r.manager.FailureGrace()).Sub(r.now)
}

func (r *rollout) untilRecovered(record v1.FailingPod) time.Duration {
	if r.recovery() == 0 {
		return 0
	}
	return record.ReadySince.Add(r.recovery()).Sub(r.now)
}

// recovery is how long a pod that has failed has to be ready to have recovered.
func (r *rollout) recovery() time.Duration { return r.manager.MinReady() + r.manager.FailureGrace() }

// untilOver is for how much longer it is remembered that a pod has recovered: for as long as its crashes could look like new ones,
// also to somebody who is asked to wait for longer.
func (r *rollout) untilOver(pod *corev1.Pod) time.Duration {
	return r.untilOutlived(pod, max(r.recovery(), lastBackOff))
}

// untilJudged is how long it is until a judgement changes although nothing happens; zero for never.
func (r *rollout) untilJudged() (wait time.Duration) {
	for _, judged := range r.remember() {
		wait = soonest(wait, judged.wait)
	}
	for _, pod := range r.failing {
		if hasEnded(pod) {
			wait = soonest(wait, untilForgotten(pod, r.now))
		}
	}
	return wait
}

// untilForgotten is for how much longer a pod that has ended counts.
func untilForgotten(pod *corev1.Pod, now time.Time) time.Duration {
	return max(0, endedAt(pod, now).Add(lastBackOff).Sub(now))
}

// hasOwnTrouble tells whether a container of the pod is in trouble now that counts against the revision. What was done to a pod is
// not its failure, and nothing counts before its node has seen what it is to be.
func hasOwnTrouble(pod *corev1.Pod) bool {
	if disruption(pod) != "" || !hasObserved(pod) {
		return false
	}
	for status := range containerStatuses(pod) {
		if isTroubleOwn(pod, status) {
			return true
		}
	}
	return false
}

// untilOutlived is how long it is until what the pod has behind it is over, its crashes and its predecessors; zero if it is, or
// there is nothing. Nodes whose clocks are ahead make it longer.
func (r *rollout) untilOutlived(pod *corev1.Pod, takes time.Duration) (wait time.Duration) {
	if replacesFailed(pod) {
		wait = max(0, pod.CreationTimestamp.Add(max(takes, youngFor)).Sub(r.now))
	}
	for status := range containerStatuses(pod) {
		if crashes(pod, status) > 0 {
			wait = max(wait, untilRunFor(status, takes, r.now))
		}
	}
	return wait
}

// replacesFailed tells whether the pod was made in the place of one that has failed with the revision that it has.
func replacesFailed(pod *corev1.Pod) bool {
	return failuresBefore(pod) > disruptionsBefore(pod) && inPlaceRecord(pod).Revision == ""
}

// untilRunFor is how long the container still has to run, or to be done with what it had to do, to have outlived its crashes.
func untilRunFor(status *corev1.ContainerStatus, takes time.Duration, now time.Time) time.Duration {
	switch running, ended := status.State.Running, status.State.Terminated; {
	case running != nil && takes == 0, ended != nil && ended.ExitCode == 0 && takes == 0:
		return 0
	case running != nil:
		return max(0, running.StartedAt.Add(takes).Sub(now))
	case ended != nil && ended.ExitCode == 0:
		return max(0, ended.FinishedAt.Add(takes).Sub(now))
	default:
		return max(takes, time.Second)
	}
}

// wholeSecond is the time as the API server will store it: rather too late than too early.
func wholeSecond(t time.Time) *metav1.Time {
	return &metav1.Time{Time: t.Add(time.Second - 1).Truncate(time.Second)}
}

// remember is what the status is to remember, those that have been failing for longest first: also where failures do not matter,
// since that may be changed at any time.
func (r *rollout) remember() []judgement {
	judged := slices.SortedFunc(maps.Values(r.judged), func(a, b judgement) int {
		return cmp.Or(falseFirst(a.Recovered, b.Recovered), a.Since.Compare(b.Since.Time), ByIndex(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return judged[:min(len(judged), maxFailingPods)]
}

// failingRecords is the same as the status has it.
func (r *rollout) failingRecords() []v1.FailingPod {
	var records []v1.FailingPod
	for _, judged := range r.remember() {
		records = append(records, judged.FailingPod)
	}
	return records
}

// isCondemned tells whether so many pods have had their chance that the revision has.
func (r *rollout) isCondemned() bool {
	condemned := 0
	for _, judged := range r.remember() {
		if judged.Condemned {
			condemned++
		}
	}
	return condemned >= min(r.manager.MaxFailedPods(), maxFailingPods)
}

// failureOf says how the pods fail, by the example of the first that does. The text is the same whether a container that
// crashes again and again is up or down at the moment.
func failureOf(failing []*corev1.Pod) string {
	failing = slices.SortedFunc(slices.Values(failing), func(a, b *corev1.Pod) int { return ByIndex(a.Name, b.Name) })
	for _, pod := range failing {
		for status := range containerStatuses(pod) {
			last := status.LastTerminationState.Terminated
			switch count := crashes(pod, status); {
			case last != nil && count > 1:
				return fmt.Sprintf("%s: container %s: CrashLoopBackOff: %s", pod.Name, status.Name, ending(last))
			case containerTrouble(status) != "":
				return pod.Name + ": " + containerTrouble(status)
			case last != nil && count > 0:
				return fmt.Sprintf("%s: container %s: %s", pod.Name, status.Name, ending(last))
			}
		}
		if why := oneLine(pod.Status.Reason, pod.Status.Message); hasEnded(pod) && why != "" {
			return pod.Name + " has failed: " + why
		}
	}
	if len(failing) == 0 {
		return ""
	}
	return failing[0].Name + ": takes the place of a pod that has failed"
}
