package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// verdict is a condition before it has a type.
type verdict struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

// situation is what the conditions are about, besides the counts.
type situation struct {
	active []*corev1.Pod
	// rollout is nil while the PodManager is being deleted.
	rollout  *rollout
	progress progress
	// cause is how the revision has failed that is rolled back from now on.
	cause string
}

// conditions are the conditions that follow from the counts. Those that stay as they are keep their transition time.
func conditions(r Report, counts v1.PodManagerStatus, now situation) []metav1.Condition {
	list := slices.Clone(r.Manager.Status.Conditions)
	set := func(kind string, v verdict) {
		meta.SetStatusCondition(&list, metav1.Condition{
			Type: kind, Status: v.status, Reason: v.reason, Message: v.message,
			ObservedGeneration: r.Manager.Generation, LastTransitionTime: metav1.NewTime(r.Now),
		})
	}
	ready, stalled := readiness(r, counts, now), stalling(r, counts, now)
	ready.message += hints(r, ready, now)
	set(v1.ConditionReady, ready)
	set(v1.ConditionAvailable, availability(r.Manager, counts))
	set(v1.ConditionProgressing, progressing(r, counts, ready, stalled))

	// The next two exist only while they are true, as kstatus and ReplicaSet have it.
	if r.Failure != nil {
		set(v1.ConditionReplicaFailure, verdict{metav1.ConditionTrue, r.Failure.Condition, r.Failure.Message})
	} else {
		meta.RemoveStatusCondition(&list, v1.ConditionReplicaFailure)
	}
	if stalled.reason != "" {
		set(v1.ConditionStalled, stalled)
	} else {
		meta.RemoveStatusCondition(&list, v1.ConditionStalled)
	}
	return list
}

// Broken is the status of a PodManager that the controller cannot handle. The counts stay as they were last known.
func Broken(manager *v1.PodManager, reason, message string, now time.Time) v1.PodManagerStatus {
	status := *manager.Status.DeepCopy()
	for kind, truth := range map[string]metav1.ConditionStatus{
		v1.ConditionReady: metav1.ConditionFalse, v1.ConditionStalled: metav1.ConditionTrue,
	} {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: truth, Reason: reason, Message: message,
			ObservedGeneration: manager.Generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	status.ObservedGeneration = manager.Generation
	return status
}

// stalling tells why the controller will not get further until somebody changes the spec, a quota or a policy; it has no
// reason if it will.
func stalling(r Report, counts v1.PodManagerStatus, now situation) verdict {
	yes := func(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }
	switch {
	case r.Failure != nil && r.Failure.Refused():
		return yes(r.Failure.Reason, r.Failure.Message)
	case now.rollout == nil:
		return verdict{}
	case now.rollout.rolledBack:
		return yes(v1.ReasonRolledBack, rolledBack(r.Manager, now))
	case now.rollout.isHalted() && now.progress.condemned:
		return yes(v1.ReasonHalted, halted(counts, now))
	case now.rollout.frozen == v1.ReasonNotInPlace:
		return yes(v1.ReasonNotInPlace, now.rollout.obstacle)
	case now.progress.late:
		return yes(v1.ReasonDeadline, fmt.Sprintf("no further pod of revision %s has become available for %v; %s",
			counts.UpdateRevision, r.Manager.ProgressDeadline(), worst(now)))
	default:
		return verdict{}
	}
}

// readiness is the first thing that stands between the pods and the spec.
func readiness(r Report, counts v1.PodManagerStatus, now situation) verdict {
	wanted := int32(r.Manager.DesiredReplicas())
	no := func(reason, format string, args ...any) verdict {
		return verdict{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}
	}
	exist := fmt.Sprintf("%d of %s exist", counts.Replicas, pods(int(wanted)))
	switch {
	case r.Manager.DeletionTimestamp != nil:
		return no(v1.ReasonTerminating, "being deleted, %s left", pods(len(r.Pods)))
	case r.Failure != nil:
		return no(cmp.Or(r.Failure.Reason, r.Failure.Condition), "%s; %s", exist, r.Failure.Message)
	}
	if verdict, found := rolloutReadiness(r, counts, now); found {
		return verdict
	}
	switch {
	case counts.Replicas < wanted && r.Plan.Waiting != nil:
		return no(v1.ReasonBackOff, "%s; %s", exist, r.Plan.Waiting)
	case counts.Replicas < wanted:
		return no(v1.ReasonTooFew, "%s", exist)
	case counts.Replicas > wanted:
		return no(v1.ReasonTooMany, "%s exist, %d wanted", pods(int(counts.Replicas)), wanted)
	case counts.ReadyReplicas < wanted:
		return no(v1.ReasonPodsNotReady, "%d of %s ready; %s", counts.ReadyReplicas, pods(int(wanted)), diagnose(now.active))
	case counts.AvailableReplicas < wanted:
		return no(v1.ReasonMinReady, "%d of %s have been ready for %d s", counts.AvailableReplicas, pods(int(wanted)),
			r.Manager.Spec.MinReadySeconds)
	case wanted == 0:
		return verdict{metav1.ConditionTrue, v1.ReasonScaledToZero, "no pods wanted, none running"}
	case now.rollout.wantBase > 0:
		return verdict{metav1.ConditionTrue, v1.ReasonPartition, fmt.Sprintf("%d of %s available; %d updated, %d left as they were by the partition",
			counts.AvailableReplicas, pods(int(wanted)), counts.UpdatedReplicas, now.rollout.wantBase)}
	case now.rollout.outdated() > 0:
		return verdict{metav1.ConditionTrue, v1.ReasonUpdateOnDelete, fmt.Sprintf("%d of %s available; %d outdated, each is updated when it is deleted",
			counts.AvailableReplicas, pods(int(wanted)), now.rollout.outdated())}
	default:
		return verdict{metav1.ConditionTrue, v1.ReasonAllAvailable,
			fmt.Sprintf("%d of %s available", counts.AvailableReplicas, pods(int(wanted)))}
	}
}

// rolloutReadiness is what a rollout has to say about readiness, if it has.
func rolloutReadiness(r Report, counts v1.PodManagerStatus, now situation) (verdict, bool) {
	no := func(reason, format string, args ...any) (verdict, bool) {
		return verdict{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}, true
	}
	rollout := now.rollout
	updated := fmt.Sprintf("%d of %s updated", counts.UpdatedReplicas, pods(r.Manager.DesiredReplicas()))
	switch {
	case rollout.rolledBack:
		return no(v1.ReasonRolledBack, "%d of %s available; %s", counts.AvailableReplicas, pods(r.Manager.DesiredReplicas()), rolledBack(r.Manager, now))
	case rollout.isUnstarted():
		return no(v1.ReasonPaused, "paused before the first pod; set paused to false to begin")
	case rollout.isHalted() && (rollout.frozen == "" || rollout.frozen == v1.ReasonHalted):
		return no(v1.ReasonHalted, "%s", halted(counts, now))
	case rollout.frozen == v1.ReasonNotInPlace:
		return no(v1.ReasonNotInPlace, "%s; pods may only be changed in place, but %s", updated, rollout.obstacle)
	case rollout.outdated() == 0 && unfinished(now.active) != "":
		return no(v1.ReasonRollingOut, "%s, %d available; %s", updated, counts.AvailableReplicas, unfinished(now.active))
	case rollout.outdated() == 0:
		return verdict{}, false
	case rollout.frozen == v1.ReasonPaused:
		return no(v1.ReasonPaused, "paused, %s", updated)
	case rollout.frozen == v1.ReasonUpdateOnDelete:
		// Outdated pods are nothing to wait for: they may stay for as long as nobody deletes them.
		return verdict{}, false
	case counts.ReadyReplicas < counts.Replicas:
		return no(v1.ReasonRollingOut, "%s, %d available; %s", updated, counts.AvailableReplicas, diagnose(now.active))
	case unfinished(now.active) != "":
		return no(v1.ReasonRollingOut, "%s, %d available; %s", updated, counts.AvailableReplicas, unfinished(now.active))
	default:
		return no(v1.ReasonRollingOut, "%s, %d available", updated, counts.AvailableReplicas)
	}
}

// halted says what keeps a rollout from going on.
func halted(counts v1.PodManagerStatus, now situation) string {
	return fmt.Sprintf("halted with %s updated to %s: %s", pods(int(counts.UpdatedReplicas)), counts.UpdateRevision, failureOf(now.rollout.failing))
}

// rolledBack says what has failed. That is known when it happens; later, the condition has it.
func rolledBack(manager *v1.PodManager, now situation) string {
	before := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionStalled)
	if now.cause == "" && before != nil && before.Reason == v1.ReasonRolledBack {
		return before.Message
	}
	cause := cmp.Or(now.cause, "its pods did not become available in time")
	return fmt.Sprintf("revision %s has failed and was rolled back to %s: %s", now.rollout.revisions.Update.Name, now.rollout.base.Name, cause)
}

// worst says which pod is worst off.
func worst(now situation) string {
	return cmp.Or(failureOf(now.rollout.failing), diagnose(now.active), unfinished(now.active), "all pods are ready")
}

func availability(manager *v1.PodManager, counts v1.PodManagerStatus) verdict {
	wanted := manager.DesiredReplicas()
	enough := wanted
	if manager.Strategy() == v1.RollingUpdateStrategy {
		enough -= manager.MaxUnavailable()
	}
	message := fmt.Sprintf("%d of %s available", counts.AvailableReplicas, pods(wanted))
	if int(counts.AvailableReplicas) < enough {
		return verdict{metav1.ConditionFalse, v1.ReasonNotEnough, message}
	}
	return verdict{metav1.ConditionTrue, v1.ReasonEnough, message}
}

// progressing tells what the controller is at.
func progressing(r Report, counts v1.PodManagerStatus, ready, stalled verdict) verdict {
	yes := func(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }
	no := func(reason, message string) verdict { return verdict{metav1.ConditionFalse, reason, message} }
	switch {
	case ready.status == metav1.ConditionTrue:
		return no(v1.ReasonComplete, "all done")
	case stalled.reason != "":
		return no(stalled.reason, stalled.message)
	case ready.reason == v1.ReasonTerminating:
		return yes(v1.ReasonTerminating, "deleting the pods")
	case ready.reason == v1.ReasonPaused, ready.reason == v1.ReasonHalted:
		return no(ready.reason, ready.message)
	case ready.reason == v1.ReasonRollingOut:
		return yes(v1.ReasonRollingOut, "rolling out revision "+counts.UpdateRevision)
	case ready.reason == v1.ReasonBackOff:
		return yes(v1.ReasonBackOff, "waiting to replace a failed pod")
	case int(counts.Replicas) != r.Manager.DesiredReplicas():
		return yes(v1.ReasonScaling, "creating or deleting pods")
	default:
		return yes(v1.ReasonWaitingOnPods, "waiting for pods to become available")
	}
}

// hints are what else there is to know.
func hints(r Report, ready verdict, now situation) string {
	text := foreignHint(r.Plan.Foreign)
	if ready.status == metav1.ConditionTrue || now.rollout == nil {
		return text
	}
	if ready.reason != v1.ReasonBackOff { // which tells the same
		text += disruptionHint(r, now.active)
	}
	if ready.reason == v1.ReasonRollingOut {
		text += undrainedHint(now.rollout)
	}
	return text
}

// undrainedHint tells of pods that are changed in place while they are in service.
func undrainedHint(r *rollout) string {
	var names []string
	for _, pod := range r.updated {
		if cannotBeDrained(r.manager, pod) && inPlaceRecord(pod).Revision != "" {
			names = append(names, pod.Name)
		}
	}
	for _, pod := range slices.Concat(r.based, r.strays) {
		if cannotBeDrained(r.manager, pod) && r.notInPlace(pod, r.revisions.Update) == "" {
			names = append(names, pod.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.SortFunc(names, ByIndex)
	more := ""
	if len(names) > 1 {
		more = fmt.Sprintf(" and %d more", len(names)-1)
	}
	return fmt.Sprintf("; %s%s: changed without being drained, made before inPlaceGracePeriodSeconds was set", names[0], more)
}

// foreignHint tells of pods that have a name that we would have used.
func foreignHint(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; the pod %s is somebody else's and is left alone", names[0])
	default:
		return fmt.Sprintf("; the pod %s and %d more are somebody else's and are left alone", names[0], len(names)-1)
	}
}

// pods is a number of pods in words.
func pods(count int) string {
	if count == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", count)
}
