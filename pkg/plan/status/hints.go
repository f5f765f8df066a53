package status

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// hints returns what to add to the message of Ready.
func hints(r Report, ready verdict) string {
	text := foreignHint(r.Plan.Foreign) + vpaHint(r) + leavingHint(r)
	if ready.status == metav1.ConditionTrue || r.Rollout == nil {
		return text
	}
	text += deadlineHint(r, ready) + overdueHint(r) + surgeHint(r)
	if ready.reason != v1.ReasonBackOff { // the message of BackOff already includes it
		text += disruptionHint(r)
	}
	if ready.reason == v1.ReasonRollingOut || ready.reason == v1.ReasonDeadline {
		text += undrainedHint(r.Rollout.State)
	}
	return text
}

// deadlineHint says that the rollout has missed its deadline, unless Ready has that reason, or the revision is rolled back.
func deadlineHint(r Report, ready verdict) string {
	if !r.Rollout.DeadlineExceeded || r.Rollout.RolledBack || ready.reason == v1.ReasonDeadline {
		return ""
	}
	return fmt.Sprintf("; no further updated pod has become available for %v", r.Manager.ProgressDeadline())
}

// surgeHint names the quota that has no room for pods beyond the desired ones, and how to do without them.
func surgeHint(r Report) string {
	if r.Failure == nil || r.Failure.Condition != v1.ReasonFailedCreate || r.Failure.Quota() == "" || len(r.Active) < r.Budget.Desired ||
		r.Budget.MaxSurge == 0 {
		return ""
	}
	return fmt.Sprintf("; quota %s has no room for the surge: raise it, or set maxUnavailable: 1 and maxSurge: 0", r.Failure.Quota())
}

// undrainedHint names pods that are updated in place while they are in service.
func undrainedHint(r *rollout.State) string {
	why := map[string]string{}
	for _, pod := range r.UpdatedPods {
		if text := r.Capabilities.WhyWasNotDrained(r.Manager, pod); text != "" {
			why[pod.Name] = text
		}
	}
	for _, pod := range slices.Concat(r.OldPods, r.MustMovePods) {
		if text := r.Capabilities.WhyNotDrained(r.Manager, pod); text != "" && r.ConcernsKubelet(pod, r.Revisions.Update) {
			why[pod.Name] = text
		}
	}
	if len(why) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(why), podstate.ByIndex)
	more := ""
	if len(names) > 1 {
		more = fmt.Sprintf(" and %d more", len(names)-1)
	}
	return fmt.Sprintf("; %s%s: updated without being taken out of service first: %s", names[0], more, why[names[0]])
}

// vpaHint names updated pods that have kept their CPU and memory, because a VerticalPodAutoscaler sets them.
func vpaHint(r Report) string {
	if r.Rollout == nil || r.Rollout.Revisions.Update.Template() == nil {
		return ""
	}
	var names []string
	for _, pod := range r.Rollout.UpdatedPods {
		if inplace.KeepsSizeOfVPA(pod, r.Rollout.Revisions.Update.Template()) {
			names = append(names, pod.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.SortFunc(names, podstate.ByIndex)
	more := ""
	if len(names) > 1 {
		more = fmt.Sprintf(" and %d more", len(names)-1)
	}
	return fmt.Sprintf("; %s%s: not resized, because a VerticalPodAutoscaler sets CPU and memory", names[0], more)
}

// foreignHint names a pod of another owner, whose name the controller had to skip.
func foreignHint(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; the name %s is skipped, because a pod that this PodManager does not control has it", names[0])
	default:
		return fmt.Sprintf("; the name %s and %d more are skipped, because pods that this PodManager does not control have them", names[0],
			len(names)-1)
	}
}

// disruptionHint names the pod that was disrupted last, while a pod is missing or a replacement is not ready.
func disruptionHint(r Report) string {
	isStarting := func(pod *corev1.Pod) bool { return health.DisruptionsBefore(pod) > 0 && !podstate.IsReady(pod) }
	if len(r.Active) >= r.Budget.Desired && !slices.ContainsFunc(r.Active, isStarting) {
		return ""
	}
	_, finished, _ := podstate.Split(r.Pods)
	for _, pod := range health.NewestFirst(finished, r.Now) {
		if text := podstate.DescribeDisruption(pod); text != "" {
			return "; " + text
		}
	}
	return ""
}
