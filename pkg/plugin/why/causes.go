package why

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/status"
	"github.com/mycompany/podmanager/pkg/plugin/revisions"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
)

// cause is the explanation for a reason of Ready, and the commands to suggest. PLUGIN stands for the command that invokes the plugin.
type cause struct {
	lead string
	next func(snapshot.Snapshot, Answer) []string
}

var causes = map[string]cause{
	"Unobserved":                 {"The controller has not handled the last change", verb("check")},
	v1.ReasonAllAvailable:        {"Nothing blocks it", none},
	v1.ReasonScaledToZero:        {"Nothing blocks it", verb("scale", "--replicas=1")},
	v1.ReasonBaking:              {"All pods are updated, and the new revision has to prove itself", verb("get", "-w")},
	v1.ReasonTooFew:              {"Pods are being created", verb("get", "-w")},
	v1.ReasonTooMany:             {"Pods are being deleted", verb("get", "-w")},
	v1.ReasonPodsNotReady:        {"Not all pods are ready", lookAtPod},
	v1.ReasonMinReady:            {"Pods have to be ready for minReadySeconds", verb("get", "-w")},
	v1.ReasonPartition:           {"The partition holds the rollout", verb("promote")},
	v1.ReasonRollingOut:          {"The rollout is under way", rollingOut},
	v1.ReasonSurgeBlocked:        {"The rollout waits for a surge pod that no node takes", giveWay},
	v1.ReasonPaused:              {"The rollout is paused", verb("resume")},
	v1.ReasonHalted:              {"The rollout is halted, because pods of the new revision fail", leaveOrRetry},
	v1.ReasonRolledBack:          {"The new revision has failed and was rolled back", tryAgain},
	v1.ReasonDeadline:            {"The rollout makes no progress", leaveOrRetry},
	v1.ReasonNotInPlace:          {"Pods may only be updated in place, and this change cannot be made in place", allowNewPods},
	v1.ReasonTerminating:         {"The PodManager is being deleted, and waits for its pods", listPods},
	v1.ReasonBackOff:             {"A pod has failed again and again, and is replaced with backoff", lookAtPod},
	v1.ReasonUpdateOnDelete:      {"Outdated pods wait until a user deletes them", listPods},
	v1.ReasonInvalidPod:          {"The API server refuses the pod", correct},
	v1.ReasonForbidden:           {"The API server forbids the pod", refused},
	v1.ReasonFailedCreate:        {"Pods cannot be created", refused},
	v1.ReasonFailedDelete:        {"Pods cannot be deleted", listPods},
	v1.ReasonInternalError:       {"The controller failed to handle the PodManager", verb("check")},
	v1.ReasonReadForbidden:       {"The controller may not read what it needs", verb("check")},
	v1.ReasonUndecodable:         {"The controller cannot decode the PodManager", verb("check")},
	v1.ReasonFailedFinal:         {"The controller cannot write the PodManager's finalizer", verb("check")},
	v1.ReasonFailedStore:         {"The controller cannot store the revision", verb("check")},
	v1.ReasonFailedClaim:         {"The controller cannot adopt or release pods", verb("check")},
	v1.ReasonNotEnough:           {"Not enough pods are available", lookAtPod},
	v1.ReasonUnreachable:         {"A setting cannot take effect", none},
	v1.ReasonNoEffect:            {"A setting cannot take effect", none},
	v1.ReasonGraceNoEffect:       {"A setting cannot take effect", none},
	v1.ReasonNodesForbidden:      {"A setting cannot take effect", none},
	v1.ReasonReplacementBlocked:  {"No node takes the replacement of a leaving pod", lookAtPod},
	v1.ReasonReplacementLate:     {"The replacement of a pod that has reached maxPodAgeSeconds does not become available", lookAtPod},
	v1.ReasonStuck:               {"Pods do not terminate, and other pods wait for them", lookAtEnding},
	v1.ReasonFailedInPlaceUpdate: {"Pods cannot be updated in place", lookAtPod},
}

// causeOf returns the cause for a reason. A controller newer than the plugin may use reasons that the plugin does not know.
func causeOf(reason string) cause {
	if found, known := causes[reason]; known {
		return found
	}
	return cause{"The PodManager is not ready: " + reason, lookAtPod}
}

// causeFor returns the cause for a PodManager.
func causeFor(s snapshot.Snapshot, reason string) cause {
	switch {
	case s.Manager.DeletionTimestamp != nil:
		return deletionCause(s)
	case s.IsBegun():
		return cause{"A new PodManager", verb("get", "-w")}
	case refusesOther(s, reason):
		return causeOf(s.Condition(v1.ConditionReplicaFailure).Reason)
	case s.Manager.Strategy() == v1.OnDeleteStrategy && crashes(s):
		return cause{"A pod does not work, and with OnDelete only a user replaces pods", leaveOrDelete}
	}
	found := closerCause(s, reason)
	switch {
	case found.lead != "":
		return found
	case isLate(s):
		return causeOf(v1.ReasonDeadline)
	case leavesFor(s, v1.LeavingForDrain):
		return drainCause(s, reason)
	case reason == v1.ReasonAllAvailable && s.Condition(v1.ConditionMisconfigured).Status == metav1.ConditionTrue:
		return cause{"Nothing blocks it, but a setting cannot take effect", editSetting}
	default:
		return causeOf(reason)
	}
}

// closerCause returns a cause that says more than the reason alone. It has no lead if there is none.
func closerCause(s snapshot.Snapshot, reason string) cause {
	switch {
	case reason == v1.ReasonTooFew && s.Condition(v1.ConditionStalled).Reason == v1.ReasonStuck:
		return causeOf(v1.ReasonStuck)
	case reason == v1.ReasonTooFew && s.Manager.Status.TerminatingReplicas > 0 && status.WaitsForTermination(s.Manager):
		return cause{"Pods are created when others have terminated", verb("get", "-w")}
	case s.Manager.Spec.Paused && (reason == v1.ReasonPaused || reason == v1.ReasonHalted) && isHalted(s):
		return cause{"The rollout is paused and also halted, because pods of the new revision fail", leaveOrResume}
	case reason == v1.ReasonAllAvailable && unwell(s).Pod != nil: // it crashes, but was ready for a moment
		return cause{"The pods are available, but not all of them work", lookAtPod}
	case reason == v1.ReasonScaledToZero && bringsFailureBack(s):
		return cause{"Nothing runs, but the revision of the template has failed, and scaling up brings it back", leave}
	default:
		return cause{}
	}
}

// refusesOther reports whether the API server refuses another request than the creation of a pod.
func refusesOther(s snapshot.Snapshot, reason string) bool {
	failed := s.Condition(v1.ConditionReplicaFailure).Reason
	return failed != "" && failed != v1.ReasonFailedCreate && (reason == v1.ReasonForbidden || reason == v1.ReasonInvalidPod)
}

// sentence joins a lead and the controller's message.
func sentence(lead, message string) string {
	if message == "" {
		return lead + "."
	}
	return lead + ": " + strings.TrimSuffix(message, ".") + "."
}

func none(snapshot.Snapshot, Answer) []string { return nil }

// verb returns a plugin command for the PodManager itself.
func verb(name string, flags ...string) func(snapshot.Snapshot, Answer) []string {
	return func(s snapshot.Snapshot, _ Answer) []string {
		return []string{strings.Join(append([]string{"PLUGIN", name, s.Manager.Name}, flags...), " ")}
	}
}

func listPods(s snapshot.Snapshot, _ Answer) []string {
	return []string{"kubectl get pods -l " + v1.LabelManager + "=" + s.Manager.Name}
}

// lookAtPod suggests commands that show more about the worst pod.
func lookAtPod(s snapshot.Snapshot, a Answer) []string {
	if a.Pod == "" {
		return verb("get", "-w")(s, a)
	}
	commands := []string{"kubectl describe pod " + a.Pod}
	switch {
	case a.hasBadImage:
		commands = append(commands, setImage(s, a))
	case a.HasLog:
		command := fmt.Sprintf("kubectl logs %s -c %s", a.Pod, a.Container)
		if a.Previous {
			command += " --previous"
		}
		commands = append(commands, command)
	}
	return commands
}

// lookAtEnding suggests commands that show why the worst pod does not terminate.
func lookAtEnding(s snapshot.Snapshot, a Answer) []string {
	if a.Pod == "" {
		return listPods(s, a)
	}
	commands := []string{"kubectl describe pod " + a.Pod}
	for _, pod := range s.Pods {
		if pod.Name == a.Pod && pod.Spec.NodeName != "" {
			commands = append(commands, "kubectl get node "+pod.Spec.NodeName)
		}
	}
	return commands
}

func rollingOut(s snapshot.Snapshot, a Answer) []string {
	switch {
	case a.hasBadImage: // waiting does not help
		return append(leave(s, a), lookAtPod(s, a)[0])
	case a.Pod != "":
		return append(verb("get", "-w")(s, a), lookAtPod(s, a)[0])
	}
	return verb("get", "-w")(s, a)
}

// refused suggests commands that show why the API server refuses the pod: a quota, the ServiceAccount, or else the template.
func refused(s snapshot.Snapshot, a Answer) []string {
	switch account := history.Template(&s.Manager.Spec).Spec.ServiceAccountName; {
	case strings.Contains(a.Cause, "maxSurge: 0"):
		return []string{"kubectl describe quota", doWithoutSurge(s)}
	case strings.Contains(a.Cause, "quota"):
		return []string{"kubectl describe quota"}
	case strings.Contains(a.Cause, "service account") && account != "":
		return []string{"kubectl get serviceaccount " + account}
	default:
		return []string{fmt.Sprintf("kubectl get pm %s -o jsonpath='{.spec.template}'", s.Manager.Name)}
	}
}

// leaveOrRetry suggests commands for a revision that does not work: to leave it, or to try it again if the cause was elsewhere.
func leaveOrRetry(s snapshot.Snapshot, a Answer) []string {
	return append(leave(s, a), retry(s, a)...)
}

// leaveOrResume suggests commands for a revision that fails while the rollout is paused. After a mere resume, the rollout would halt again at once.
func leaveOrResume(s snapshot.Snapshot, a Answer) []string {
	return append(leave(s, a), verb("resume")(s, a)...)
}

// leave suggests commands that leave a revision: for an earlier one, if there is one, or for another image.
func leave(s snapshot.Snapshot, a Answer) []string {
	if !hasPrevious(s) {
		return []string{setImage(s, a)}
	}
	return append(verb("undo")(s, a), setImage(s, a))
}

// correct suggests commands for a template that the API server refuses: to correct it, after a look at what has changed if there is an earlier one.
func correct(s snapshot.Snapshot, a Answer) []string {
	edit := "kubectl edit pm " + s.Manager.Name
	if !hasPrevious(s) {
		return []string{edit}
	}
	return slices.Concat(verb("diff")(s, a), verb("undo")(s, a), []string{edit})
}

// bringsFailureBack reports whether new pods would have a revision that has failed or halted. After a rollback, they have another one.
func bringsFailureBack(s snapshot.Snapshot) bool {
	present := revisions.Present(s)
	return (present.Failed || isHalted(s)) && s.Manager.Status.FailedRevision != present.Name
}

// crashes reports whether a container of the worst pod crashes or cannot start.
func crashes(s snapshot.Snapshot) bool {
	pod := unwell(s).Pod
	if pod == nil {
		return false
	}
	status := culprit(pod)
	return status != nil && (podstate.ContainerTrouble(status) != "" || inplace.Crashes(pod, status) > 0)
}

// leaveOrDelete suggests commands for OnDelete: to leave a revision whose pod crashes or, if that pod is outdated, to delete it.
func leaveOrDelete(s snapshot.Snapshot, a Answer) []string {
	known := s.Revisions()
	if pod := unwell(s).Pod; known.HashOf(pod) != known.Update.Hash {
		return []string{"kubectl delete pod " + pod.Name}
	}
	return append(leave(s, a), lookAtPod(s, a)...)
}

// editSetting suggests to change the setting that the condition Misconfigured names, unless a right is missing instead, which has commands of its own.
func editSetting(s snapshot.Snapshot, _ Answer) []string {
	if s.Condition(v1.ConditionMisconfigured).Reason == v1.ReasonNodesForbidden {
		return nil
	}
	return []string{"kubectl edit pm " + s.Manager.Name}
}

// hasPrevious reports whether diff and undo find an earlier revision. If the user may not read revisions, these verbs say which right is missing.
func hasPrevious(s snapshot.Snapshot) bool {
	_, err := revisions.Previous(s)
	return err == nil || !s.Reads("controllerrevisions")
}

// tryAgain suggests commands for a revision that was rolled back: a fixed one, or the same one if the cause was elsewhere.
func tryAgain(s snapshot.Snapshot, a Answer) []string {
	return slices.Concat([]string{setImage(s, a)}, retry(s, a), verb("undo")(s, a))
}

// retry suggests to try the revision again, unless podUpdatePolicy forbids the new pods that this needs.
func retry(s snapshot.Snapshot, a Answer) []string {
	if s.Manager.PodUpdatePolicy() == v1.InPlaceOnly {
		return nil
	}
	return verb("retry")(s, a)
}

// setImage suggests another image for the container whose image cannot be had, or else for the first one.
func setImage(s snapshot.Snapshot, a Answer) string {
	container := v1.ShorthandContainer
	if template := history.Template(&s.Manager.Spec); len(template.Spec.Containers) > 0 {
		container = template.Spec.Containers[0].Name
	}
	if a.hasBadImage {
		container = a.Container
	}
	return fmt.Sprintf("PLUGIN set image %s %s=IMAGE", s.Manager.Name, container)
}

// giveWay suggests commands for a surge pod without a node: to find out why, or to do without it.
func giveWay(s snapshot.Snapshot, a Answer) []string {
	return append(lookAtPod(s, a), doWithoutSurge(s))
}

// doWithoutSurge suggests limits with which a rollout needs no surge pod. The API server refuses maxSurge 0 if maxUnavailable is 0 as well.
func doWithoutSurge(s snapshot.Snapshot) string {
	return fmt.Sprintf(
		`kubectl patch pm %s --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":1,"maxSurge":0}}}}'`, s.Manager.Name)
}

func allowNewPods(s snapshot.Snapshot, a Answer) []string {
	return append(verb("diff")(s, a), fmt.Sprintf(
		`kubectl patch pm %s --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible"}}}}'`, s.Manager.Name))
}
