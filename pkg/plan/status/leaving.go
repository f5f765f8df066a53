package status

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// leavingCauses are the causes as the status has them.
var leavingCauses = map[leaving.Cause]v1.LeavingCause{
	leaving.Drained: v1.LeavingForDrain, leaving.Lost: v1.LeavingForNodeLoss, leaving.TooOld: v1.LeavingForAge,
}

// leavingPods returns what the status says about leaving pods.
func leavingPods(pods []leaving.Pod) []v1.LeavingPod {
	var leaves []v1.LeavingPod
	for _, pod := range pods {
		leaves = append(leaves, v1.LeavingPod{Name: pod.Name, Cause: leavingCauses[pod.Cause], Message: pod.Why})
	}
	slices.SortFunc(leaves, func(a, b v1.LeavingPod) int { return podstate.ByIndex(a.Name, b.Name) })
	return leaves[:min(len(leaves), maxPodNames)]
}

// leavingHint names a pod that is about to leave, and why.
func leavingHint(r Report) string {
	switch leaves := r.Plan.Leaving; {
	case r.Plan.Alone:
		return "; pods on drained or lost nodes are not replaced before they are gone, because Recreate and TerminationComplete never let a pod " +
			"and its replacement run at the same time"
	case len(leaves) == 0:
		return ""
	default:
		return fmt.Sprintf("; %s is leaving: %s%s", leaves[0].Name, leaves[0].Why, alike(len(leaves)-1, "leaving"))
	}
}

// replacementProblem returns why the replacement of a leaving pod does not become available: the reason of Ready, and what a user can do. Both are
// empty if there is no problem.
func replacementProblem(r Report) (reason, why string) {
	late, _ := lateReplacement(r)
	blocked, of, _ := blockedReplacement(r)
	switch {
	case late != nil:
		return v1.ReasonReplacementLate, fmt.Sprintf(
			"until the replacement %s is available, no further pod is replaced for reaching maxPodAgeSeconds", late.Name)
	case blocked != nil:
		return v1.ReasonReplacementBlocked, fmt.Sprintf(
			"no node has room for the replacement of %s: make room on another node, or bring the node of %[1]s back into service", of)
	default:
		return "", ""
	}
}

// untilReplacementProblem returns the time until replacementProblem reports a problem without an event; zero means never.
func untilReplacementProblem(r Report) time.Duration {
	_, untilLate := lateReplacement(r)
	_, _, untilBlocked := blockedReplacement(r)
	return requeue.Sooner(untilLate, untilBlocked)
}

// blockedReplacement returns a pod that has had no node for some time while a pod on a drained or lost node waits for its replacement, or nil. of is
// the name of the leaving pod that the blocked pod was created to replace. If it was created for another reason, of is the name of the leaving pod
// that began to leave last, because the others may already have replacements. wait is the time until there is a blocked pod.
func blockedReplacement(r Report) (blocked *corev1.Pod, of string, wait time.Duration) {
	for _, l := range r.Plan.Leaving {
		if l.Cause != leaving.TooOld {
			of = l.Name
		}
	}
	if r.Rollout == nil || of == "" {
		return nil, "", 0
	}
	blocked, wait = unplaced(r)
	for _, l := range r.Plan.Leaving {
		if blocked != nil && l.Cause != leaving.TooOld && isReplacementOf(blocked, l) {
			of = l.Name
		}
	}
	return blocked, of, wait
}

// isReplacementOf reports whether a pod was created to replace a leaving pod.
func isReplacementOf(pod *corev1.Pod, l leaving.Pod) bool {
	return slices.Contains(health.Replaces(pod), l.UID)
}

// lateReplacement returns the pod that was created for a pod that is too old, and has not become available within the progress deadline, or nil. wait
// is the time until there is one. Until it is available, no further pod is replaced for its age.
func lateReplacement(r Report) (late *corev1.Pod, wait time.Duration) {
	isForAge := func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(r.Plan.Leaving, func(l leaving.Pod) bool { return l.Cause == leaving.TooOld && isReplacementOf(pod, l) })
	}
	at := slices.IndexFunc(r.Active, isForAge) // at most one pod leaves for its age at a time
	if at < 0 || health.IsAvailable(r.Active[at], r.Manager.MinReady(), r.Now) {
		return nil, 0
	}
	if wait = r.Active[at].CreationTimestamp.Add(r.Manager.ProgressDeadline()).Sub(r.Now); wait <= 0 {
		return r.Active[at], 0
	}
	return nil, wait
}
