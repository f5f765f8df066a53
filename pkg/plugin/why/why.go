package why

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// Answer explains the state of a PodManager.
type Answer struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Cause is a sentence. If the API server refuses the pods, a second one says that the controller tries again.
	Cause    string   `json:"cause"`
	Evidence []string `json:"evidence,omitempty"`
	// Next are the commands to run next.
	Next []string `json:"next,omitempty"`

	// Pod and Container are the ones to look at. They are empty if there are none.
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	// Log holds the last lines of the container's log.
	Log []string `json:"log,omitempty"`
	// HasLog reports whether the container has run. Previous reports whether the log of its previous run is the relevant one.
	HasLog   bool `json:"-"`
	Previous bool `json:"-"`

	// hasBadImage reports whether the container does not run because its image cannot be had.
	hasBadImage bool
	// isHalted reports whether the rollout is halted. It may be paused as well. isLate reports whether it has missed its deadline. since is when it
	// began, if that is recorded.
	isHalted, isLate bool
	since            time.Time
}

// Find explains the state of a PodManager, as far as a snapshot shows it.
func Find(s snapshot.Snapshot) Answer {
	manager := s.Manager
	answer := Answer{Name: manager.Name, Reason: follow.Reason(manager), isHalted: isHalted(s), isLate: isLate(s)}
	if rollout := manager.Status.Rollout; rollout != nil && rollout.StartedAt != nil {
		answer.since = rollout.StartedAt.Time
	}
	found := worst(s)
	if pod := found.Pod; pod != nil {
		answer.blame(pod)
		answer.say("pod %s: %s", pod.Name, found.Text)
	}
	if overdue := overdue(s); overdue.Pod != nil && overdue.Pod != found.Pod {
		answer.say("pod %s: %s", overdue.Pod.Name, overdue.Text)
	}
	answer.addLeaving(s)
	answer.addDeletion(s)
	cause := causeFor(s, answer.Reason)
	answer.Cause = sentence(cause.lead, s.Message())
	if follow.RefusesPods(manager) {
		answer.Cause += " Once the reason is gone, wait: " + follow.TriesAgain + "."
	}
	for _, command := range cause.next(s, answer) {
		answer.suggest(s, strings.TrimSpace(command))
	}
	if s.Condition(v1.ConditionMisconfigured).Reason == v1.ReasonNodesForbidden {
		answer.Next = append(answer.Next, grantNodes...)
	}
	for _, kind := range []string{v1.ConditionStalled, v1.ConditionReplicaFailure, v1.ConditionMisconfigured} {
		if condition := s.Condition(kind); condition.Message != "" && !strings.Contains(answer.Cause, condition.Message) {
			answer.say("%s: %s: %s", kind, condition.Reason, condition.Message)
		}
	}
	if !s.Reads("pods") && s.Condition(v1.ConditionReady).Status != metav1.ConditionTrue {
		answer.say("you may not read pods in namespace %s, so more is not known", manager.Namespace)
	}
	return answer
}

// blame records the pod that is worst off, and its container that causes the trouble, if there is one.
func (a *Answer) blame(pod *corev1.Pod) {
	a.Pod = pod.Name
	if status := culprit(pod); status != nil {
		a.Container = status.Name
		a.HasLog = status.State.Running != nil || status.State.Terminated != nil || status.LastTerminationState.Terminated != nil
		a.hasBadImage = strings.HasPrefix(podstate.TroubleKind(pod, status), podstate.TroubleImage)
		a.Previous = status.State.Terminated == nil && status.LastTerminationState.Terminated != nil
	}
}

// isLate reports whether the rollout has missed its deadline.
func isLate(s snapshot.Snapshot) bool {
	return s.Condition(v1.ConditionStalled).Reason == v1.ReasonDeadline
}

// isHalted reports whether the rollout is halted, even if it is also paused.
func isHalted(s snapshot.Snapshot) bool {
	stalled := s.Condition(v1.ConditionStalled)
	return stalled.Status == metav1.ConditionTrue && stalled.Reason == v1.ReasonHalted || s.IsObserved() && s.Reads("pods") && s.Rollout().IsHalted()
}

// grantNodes are commands that give a controller the right to watch nodes, and no other cluster-wide right: it may be a controller that has rights in
// some namespaces only. The user fills in its ServiceAccount.
var grantNodes = []string{
	"kubectl create clusterrole podmanager-nodes --verb=list,watch --resource=nodes",
	"kubectl create clusterrolebinding podmanager-nodes --clusterrole=podmanager-nodes --serviceaccount=NAMESPACE:ACCOUNT",
}

// complete names the plugin and the namespace in a suggested command, so that the command works in any context. Nodes have no namespace.
func complete(command string, manager *v1.PodManager) string {
	if words, isOurs := strings.CutPrefix(command, "PLUGIN "); isOurs {
		return text.Hint(manager.Namespace, words)
	}
	if command == "" || strings.Contains(command, " -n ") || strings.HasPrefix(command, "kubectl get node") {
		return command
	}
	return command + " -n " + manager.Namespace
}

// worst returns the pod to look at and what is wrong with it: a failing pod or, if there is none, one that is not ready, one that has finished
// although pods are missing, one whose resize is stuck, or one that does not terminate.
func worst(s snapshot.Snapshot) health.Finding {
	if !s.Reads("pods") {
		return health.Finding{}
	}
	active, finished, _ := podstate.Split(s.Pods)
	active = s.WithoutLeaving(active)
	found := unwell(s)
	if found.Pod == nil && len(active) < s.Manager.DesiredReplicas() {
		found = health.DescribeFailure(health.NewestFirst(finished, s.Now))
	}
	if found.Pod == nil {
		found = health.DescribeStuckResize(active, s.Now)
	}
	if found.Pod == nil {
		found = overdue(s)
	}
	return found
}

// unwell returns a failing pod or, if there is none, one that is not ready.
func unwell(s snapshot.Snapshot) health.Finding {
	if !s.Reads("pods") {
		return health.Finding{}
	}
	if found := health.DescribeFailure(s.Rollout().FailingPods); found.Pod != nil {
		return found
	}
	active, _, _ := podstate.Split(s.Pods)
	return health.Diagnose(s.WithoutLeaving(active), s.Now)
}

// overdue returns the first terminating pod that should be gone.
func overdue(s snapshot.Snapshot) health.Finding {
	_, _, terminating := podstate.Split(s.Pods)
	return health.DescribeOverdue(terminating, s.Now)
}

// culprit returns the container to look at: one that cannot run, one that has crashed, or one that is not ready. It returns nil if there is none.
func culprit(pod *corev1.Pod) *corev1.ContainerStatus {
	statuses := slices.Collect(podstate.ContainerStatuses(pod))
	for _, isCulprit := range []func(*corev1.ContainerStatus) bool{
		func(status *corev1.ContainerStatus) bool { return podstate.ContainerTrouble(status) != "" },
		func(status *corev1.ContainerStatus) bool { return inplace.Crashes(pod, status) > 0 },
		func(status *corev1.ContainerStatus) bool { return status.State.Running != nil && !status.Ready },
	} {
		if found := slices.IndexFunc(statuses, isCulprit); found >= 0 {
			return statuses[found]
		}
	}
	return nil
}

// Lines formats the answer.
func (a Answer) Lines(style text.Style) []string {
	lines := text.Wrap(a.Cause, style.Width)
	add := func(title string, entries []string) {
		if len(entries) == 0 {
			return
		}
		lines = append(lines, "", style.Paint(text.Bold, title))
		for _, entry := range entries {
			entry = text.Clean(entry)
			if style.Width > 0 {
				entry = text.Cut(entry, max(1, style.Width-2))
			}
			lines = append(lines, "  "+entry)
		}
	}
	add("Evidence", a.Evidence)
	if a.Container != "" {
		add("Last lines of container "+a.Container, a.Log)
	}
	lines = append(lines, nextLines(a.Next, style)...)
	return lines
}

// nextLines formats the commands. They are not cut, because the user copies them.
func nextLines(next []string, style text.Style) []string {
	if len(next) == 0 {
		return nil
	}
	lines := []string{"", style.Paint(text.Bold, "Next")}
	for _, command := range next {
		lines = append(lines, "  "+text.Clean(command))
	}
	return lines
}
