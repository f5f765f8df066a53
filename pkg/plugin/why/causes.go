package why

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
)

// cause is what to say and to do for a reason of Ready. In a command, PLUGIN stands for the way that the plugin is called.
type cause struct {
	lead string
	next func(snapshot.Snapshot, Answer) []string
}

var causes = map[string]cause{
	"Unobserved":                 {"The last change has not been taken up", verb("check")},
	v1.ReasonAllAvailable:        {"Nothing holds it up", none},
	v1.ReasonScaledToZero:        {"Nothing holds it up", verb("scale", "--replicas=1")},
	v1.ReasonBaking:              {"All pods are updated, and the new revision has to prove itself", verb("get", "-w")},
	v1.ReasonTooFew:              {"Pods are being created", verb("get", "-w")},
	v1.ReasonTooMany:             {"Pods are being deleted", verb("get", "-w")},
	v1.ReasonPodsNotReady:        {"Not all pods are ready", lookAtPod},
	v1.ReasonMinReady:            {"Pods have to be ready for minReadySeconds", verb("get", "-w")},
	v1.ReasonPartition:           {"The partition holds the rollout", verb("promote")},
	v1.ReasonRollingOut:          {"The rollout is under way", rollingOut},
	v1.ReasonPaused:              {"The rollout is paused", verb("resume")},
	v1.ReasonHalted:              {"The rollout is halted, because pods of the new revision fail", leaveRevision},
	v1.ReasonRolledBack:          {"The new revision has failed and was rolled back", tryAgain},
	v1.ReasonDeadline:            {"The rollout makes no progress", leaveRevision},
	v1.ReasonNotInPlace:          {"Pods may only be updated in place, and that is not possible", allowNewPods},
	v1.ReasonTerminating:         {"It is being deleted, and waits for its pods", listPods},
	v1.ReasonBackOff:             {"A pod has failed again and again, and is replaced ever later", lookAtPod},
	v1.ReasonUpdateOnDelete:      {"Outdated pods wait for somebody to delete them", listPods},
	v1.ReasonInvalidPod:          {"The API server refuses the pod", verb("diff")},
	v1.ReasonForbidden:           {"The API server forbids the pod", verb("diff")},
	v1.ReasonFailedCreate:        {"Pods cannot be created", verb("diff")},
	v1.ReasonFailedDelete:        {"Pods cannot be deleted", listPods},
	v1.ReasonInternalError:       {"The controller cannot handle it", verb("check")},
	v1.ReasonUndecodable:         {"The controller cannot read it", verb("check")},
	v1.ReasonFailedFinal:         {"Its finalizer cannot be written", verb("check")},
	v1.ReasonFailedStore:         {"Its revision cannot be stored", verb("check")},
	v1.ReasonFailedClaim:         {"Its pods cannot be adopted or released", verb("check")},
	v1.ReasonNotEnough:           {"Not enough pods are available", lookAtPod},
	v1.ReasonUnreachable:         {"A setting cannot take effect", none},
	v1.ReasonNoEffect:            {"A setting cannot take effect", none},
	v1.ReasonStuck:               {"Pods do not go, and others wait for that", lookAtPod},
	v1.ReasonFailedInPlaceUpdate: {"Pods cannot be updated in place", lookAtPod},
}

// causeOf is what to say for a reason; a controller that is newer than the plugin may give others.
func causeOf(reason string) cause {
	if found, known := causes[reason]; known {
		return found
	}
	return cause{"It is not ready: " + reason, lookAtPod}
}

// sentence joins a lead and the controller's own words.
func sentence(lead, message string) string {
	if message == "" {
		return lead + "."
	}
	return lead + ": " + strings.TrimSuffix(message, ".") + "."
}

func none(snapshot.Snapshot, Answer) []string { return nil }

// verb is a command of the plugin about the PodManager itself.
func verb(name string, flags ...string) func(snapshot.Snapshot, Answer) []string {
	return func(s snapshot.Snapshot, _ Answer) []string {
		return []string{strings.Join(append([]string{"PLUGIN", name, s.Manager.Name}, flags...), " ")}
	}
}

func listPods(s snapshot.Snapshot, _ Answer) []string {
	return []string{"kubectl get pods -l " + v1.LabelManager + "=" + s.Manager.Name}
}

// lookAtPod shows more of the pod that is worst off.
func lookAtPod(s snapshot.Snapshot, a Answer) []string {
	if a.Pod == "" {
		return verb("get", "-w")(s, a)
	}
	commands := []string{"kubectl describe pod " + a.Pod}
	if a.Container != "" {
		command := fmt.Sprintf("kubectl logs %s -c %s", a.Pod, a.Container)
		if a.Previous {
			command += " --previous"
		}
		commands = append(commands, command)
	}
	return commands
}

func rollingOut(s snapshot.Snapshot, a Answer) []string {
	if a.Pod != "" {
		return append(verb("get", "-w")(s, a), lookAtPod(s, a)[0])
	}
	return verb("get", "-w")(s, a)
}

// leaveRevision is for a revision that does not work.
func leaveRevision(s snapshot.Snapshot, a Answer) []string {
	return append(verb("undo")(s, a), setImage(s))
}

// tryAgain is for a revision that was rolled back: a better one, or the same if the fault was elsewhere.
func tryAgain(s snapshot.Snapshot, a Answer) []string {
	return slices.Concat([]string{setImage(s)}, verb("retry")(s, a), verb("undo")(s, a))
}

func setImage(s snapshot.Snapshot) string {
	container := v1.ShorthandContainer
	if template := history.Template(&s.Manager.Spec); len(template.Spec.Containers) > 0 {
		container = template.Spec.Containers[0].Name
	}
	return fmt.Sprintf("PLUGIN set image %s %s=IMAGE", s.Manager.Name, container)
}

func allowNewPods(s snapshot.Snapshot, a Answer) []string {
	return append(verb("diff")(s, a), fmt.Sprintf(
		`kubectl patch pm %s --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible"}}}}'`, s.Manager.Name))
}
