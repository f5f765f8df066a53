package plan

import (
	"cmp"
	"fmt"
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

// judge tells whether a pod that runs, or is to, is failing, and what is to be remembered of that.
func (r *rollout) judge(pod *corev1.Pod) (v1.FailingPod, bool) {
	record, known := r.remembered(pod)
	crashes := allCrashes(pod)
	if !known {
		if !showsFailure(r.manager, pod, r.now) {
			return v1.FailingPod{}, false
		}
		record.Crashes = crashes
	}
	if !isReady(pod) || crashes > record.Crashes {
		record.ReadySince = nil
	}
	record.Crashes = crashes
	if isReady(pod) && record.ReadySince == nil {
		record.ReadySince = wholeSecond(r.now)
	}
	record.Condemned = record.Condemned || !isReady(pod) && r.untilCondemned(record) <= 0
	return record, record.ReadySince == nil || r.untilRecovered(record) > 0
}

// judgeEnded is the same for a pod that has ended, which cannot recover.
func (r *rollout) judgeEnded(pod *corev1.Pod) v1.FailingPod {
	record, _ := r.remembered(pod)
	record.Condemned = r.untilCondemned(record) <= 0
	return record
}

// remembered is what the status knows of a failing pod; a new record, and false, if that is nothing.
func (r *rollout) remembered(pod *corev1.Pod) (v1.FailingPod, bool) {
	if last := r.manager.Status.Rollout; last != nil && last.Revision == r.revisions.Update.Name {
		for i := range last.Failing {
			if last.Failing[i].UID == pod.UID {
				return last.Failing[i], true
			}
		}
	}
	return v1.FailingPod{Name: pod.Name, UID: pod.UID, Since: *wholeSecond(r.now)}, false
}

// untilCondemned is how long a failing pod still has to recover, and untilRecovered how long it still has to stay ready for that.
func (r *rollout) untilCondemned(record v1.FailingPod) time.Duration {
	return record.Since.Add(r.manager.FailureGrace()).Sub(r.now)
}

func (r *rollout) untilRecovered(record v1.FailingPod) time.Duration {
	takes := r.manager.MinReady() + r.manager.FailureGrace()
	if takes == 0 {
		return 0
	}
	return record.ReadySince.Add(takes).Sub(r.now)
}

// untilJudged is how long it is until the judgement of a failing pod changes although nothing happens to it; zero for never.
func (r *rollout) untilJudged() (wait time.Duration) {
	for _, record := range r.failingRecords() {
		if !record.Condemned {
			wait = soonest(wait, max(0, r.untilCondemned(record)))
		}
		if record.ReadySince != nil {
			wait = soonest(wait, max(0, r.untilRecovered(record)))
		}
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

// showsFailure tells whether a pod that was not known to be failing shows that it, or one in whose place it was made, has failed
// just now. A crash that its container has outlived for long enough is over. What was done to a pod is not its failure, and
// nothing counts before its node has seen what it is to be.
func showsFailure(manager *v1.PodManager, pod *corev1.Pod, now time.Time) bool {
	if disruption(pod) != "" || !hasObserved(pod) {
		return false
	}
	recovery := manager.MinReady() + manager.FailureGrace()
	if replacesFailed(pod) && now.Sub(pod.CreationTimestamp.Time) < max(recovery, youngFor) {
		return true
	}
	for status := range containerStatuses(pod) {
		if isTroubleOwn(pod, status) || crashes(pod, status) > 0 && !hasRunFor(status, recovery, now) {
			return true
		}
	}
	return false
}

// replacesFailed tells whether the pod was made in the place of one that has failed with the revision that it has.
func replacesFailed(pod *corev1.Pod) bool {
	return failuresBefore(pod) > disruptionsBefore(pod) && inPlaceRecord(pod).Revision == ""
}

// hasRunFor tells whether the container runs, and has for so long. A start in the future is one by a clock that is wrong.
func hasRunFor(status *corev1.ContainerStatus, duration time.Duration, now time.Time) bool {
	running := status.State.Running
	return running != nil && (duration == 0 || now.Sub(running.StartedAt.Time) >= duration)
}

// wholeSecond is the time as the API server will store it: rather too late than too early.
func wholeSecond(t time.Time) *metav1.Time {
	return &metav1.Time{Time: t.Add(time.Second - 1).Truncate(time.Second)}
}

// failingRecords are what the status is to remember, those that have been failing for longest first. Where failures do not matter
// that is nothing.
func (r *rollout) failingRecords() []v1.FailingPod {
	var records []v1.FailingPod
	if r.manager.OnFailure() == v1.ContinueOnFailure {
		return nil
	}
	for _, pod := range r.failing {
		records = append(records, r.records[pod.UID])
	}
	slices.SortFunc(records, func(a, b v1.FailingPod) int {
		return cmp.Or(a.Since.Compare(b.Since.Time), ByIndex(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return records[:min(len(records), maxFailingPods)]
}

// isCondemned tells whether so many pods have had their chance that the revision has.
func (r *rollout) isCondemned() bool {
	condemned := 0
	for _, record := range r.failingRecords() {
		if record.Condemned {
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
