package status

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// withoutLeaving returns the active pods without those that no longer count, and how many these are.
func withoutLeaving(r Report, active []*corev1.Pod) (stay []*corev1.Pod, leaves int) {
	if len(r.Plan.Leaving) == 0 {
		return active, 0
	}
	for _, pod := range active {
		if slices.ContainsFunc(r.Plan.Leaving, func(l leaving.Pod) bool { return l.UID == pod.UID }) {
			leaves++
		} else {
			stay = append(stay, pod)
		}
	}
	return stay, leaves
}

// leavingHint names a pod that is about to leave, and why.
func leavingHint(r Report) string {
	switch count := len(r.Plan.Leaving); {
	case r.Plan.Alone:
		return "; pods on drained or lost nodes are not replaced before they are gone, because two must never run at the same time"
	case count == 0:
		return ""
	case count == 1:
		return fmt.Sprintf("; %s is leaving: %s", r.Plan.Leaving[0].Name, r.Plan.Leaving[0].Why)
	default:
		return fmt.Sprintf("; %s and %d more are leaving: %s", r.Plan.Leaving[0].Name, count-1, r.Plan.Leaving[0].Why)
	}
}

// replacementProblem returns why the replacement of a leaving pod does not get available: the reason of Ready, and what a user can do. Both are empty if there
// is no problem.
func replacementProblem(r Report, in inputs) (reason, why string) {
	late, _ := lateReplacement(r, in)
	blocked, _ := blockedReplacement(r, in)
	switch {
	case late != nil:
		return v1.ReasonReplacementLate, "no further pod is replaced for its age, because this replacement is not available"
	case blocked != nil:
		return v1.ReasonReplacementBlocked, fmt.Sprintf("no node takes the replacement of %s: make room for it, or uncordon the node", r.Plan.Leaving[0].Name)
	default:
		return "", ""
	}
}

// untilReplacementProblem returns the time until there is such a problem; zero if none will be.
func untilReplacementProblem(r Report, in inputs) time.Duration {
	_, untilLate := lateReplacement(r, in)
	_, untilBlocked := blockedReplacement(r, in)
	return requeue.Sooner(untilLate, untilBlocked)
}

// blockedReplacement returns a pod that has had no node for some time while a pod on a drained or lost node waits for its replacement, or nil. wait is the
// time until there is one.
func blockedReplacement(r Report, in inputs) (blocked *corev1.Pod, wait time.Duration) {
	isDisrupted := func(l leaving.Pod) bool { return l.Cause != leaving.TooOld }
	if in.rollout == nil || !slices.ContainsFunc(r.Plan.Leaving, isDisrupted) {
		return nil, 0
	}
	return in.unplaced()
}

// lateReplacement returns the pod that was created for a pod that is too old, and has not become available within the progress deadline, or nil. wait
// is the time until there is one. Until it is available, no further pod is replaced for its age.
func lateReplacement(r Report, in inputs) (late *corev1.Pod, wait time.Duration) {
	if !slices.ContainsFunc(r.Plan.Leaving, func(l leaving.Pod) bool { return l.Cause == leaving.TooOld }) {
		return nil, 0
	}
	for _, pod := range in.active {
		if health.IsAvailable(pod, r.Manager.MinReady(), r.Now) {
			continue
		}
		if wait = pod.CreationTimestamp.Add(r.Manager.ProgressDeadline()).Sub(r.Now); wait <= 0 {
			return pod, 0
		}
	}
	return nil, wait
}
