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
	ready := readiness(r, counts, now)
	stalled := stalling(r, counts, ready, now)
	ready.message += hints(r, ready, now)
	set(v1.ConditionReady, ready)
	set(v1.ConditionAvailable, availability(r.Manager, counts))
	set(v1.ConditionProgressing, progressing(r, counts, now, ready, stalled))

	// The others exist only while they are true, as kstatus and ReplicaSet have it.
	setIf := func(kind string, v verdict) {
		if v.reason == "" {
			meta.RemoveStatusCondition(&list, kind)
			return
		}
		set(kind, v)
	}
	failure := verdict{}
	if r.Failure != nil {
		failure = verdict{metav1.ConditionTrue, r.Failure.Condition, r.Failure.Message}
	}
	setIf(v1.ConditionReplicaFailure, failure)
	setIf(v1.ConditionStalled, stalled)
	setIf(v1.ConditionMisconfigured, misconfigured(r.Manager))
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
// reason if it will, or nothing is left to be done. Whoever is still doing something cannot say that it is all in vain.
func stalling(r Report, counts v1.PodManagerStatus, ready verdict, now situation) verdict {
	yes := func(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }
	switch {
	case ready.status == metav1.ConditionTrue:
		return verdict{}
	case r.Failure != nil && r.Failure.Refused():
		return yes(r.Failure.Reason, r.Failure.Message)
	case now.rollout == nil || r.Plan.acts():
		return verdict{}
	case now.rollout.rolledBack && now.rollout.hasReturned():
		return yes(v1.ReasonRolledBack, rolledBack(r.Manager, now))
	case now.rollout.rolledBack:
		return verdict{}
	case now.rollout.frozen == v1.ReasonNotInPlace:
		return yes(v1.ReasonNotInPlace, now.rollout.obstacle)
	case now.rollout.isHalted() && now.progress.condemned:
		return yes(v1.ReasonHalted, halted(counts, now))
	case now.progress.late:
		return yes(v1.ReasonDeadline, fmt.Sprintf("no further pod of revision %s has become available for %v; %s",
			counts.UpdateRevision, r.Manager.ProgressDeadline(), worst(now)))
	default:
		return verdict{}
	}
}

// acts tells whether the plan does something about pods that stand.
func (p Plan) acts() bool {
	goes := func(d Deletion) bool { return d.Why != WhyEnded }
	return len(p.Create)+len(p.Change) > 0 || slices.ContainsFunc(p.Delete, goes)
}

// hasReturned tells whether all is done that can be about a revision that has failed.
func (r *rollout) hasReturned() bool {
	return r.frozen != "" || r.outdated() == 0 && r.missing() == 0
}

// saidLater is how long it is until what was not said because of what is done is looked at again: the events of own doings bring
// no sync.
const saidLater = time.Second

// untilSaid is when there may be more to say than now, because nothing is being done any more, or a pod should be gone.
func (now situation) untilSaid(r Report) LookAgain {
	again := After(r.Now, untilOverdue(r), AgainTerminating)
	if r.Plan.acts() && (now.rollout.rolledBack || now.rollout.isHalted() || now.rollout.obstacle != "" || now.progress.late) {
		again = again.Sooner(After(r.Now, saidLater, AgainStatus))
	}
	return again
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
	case wanted == 0 && counts.Replicas == 0: // of any revision
		return verdict{metav1.ConditionTrue, v1.ReasonScaledToZero, "no pods wanted, none running"}
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
	case now.rollout.due() < int(wanted) && !now.rollout.rolledBack:
		return verdict{metav1.ConditionTrue, v1.ReasonPartition, fmt.Sprintf("%d of %s available; %d updated, %d left as they were by the partition",
			counts.AvailableReplicas, pods(int(wanted)), counts.UpdatedReplicas, len(now.rollout.based))}
	case now.rollout.outdated() > 0:
		return verdict{metav1.ConditionTrue, v1.ReasonUpdateOnDelete, fmt.Sprintf("%d of %s available; %d outdated, each is updated when it is deleted",
			counts.AvailableReplicas, pods(int(wanted)), now.rollout.outdated())}
	default:
		reason, bake := baking(now.rollout)
		return verdict{metav1.ConditionTrue, reason, fmt.Sprintf("%d of %s available%s", counts.AvailableReplicas, pods(int(wanted)), bake)}
	}
}

// baking says that all pods are updated and available, and until when the revision has to prove itself, if another one would be
// returned to. The time is absolute, so that the text stays the same until then.
func baking(r *rollout) (reason, message string) {
	wait, underway := r.untilGood()
	if r.base == nil || !underway || wait == 0 {
		return v1.ReasonAllAvailable, ""
	}
	until := wholeSecond(r.now.Add(wait)).UTC().Format(time.RFC3339)
	return v1.ReasonBaking, fmt.Sprintf("; if they stay so until %s, %s is the revision to return to", until, r.revisions.Update.Name)
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
		text := fmt.Sprintf("%d of %s available; %s", counts.AvailableReplicas, pods(r.Manager.DesiredReplicas()), rolledBack(r.Manager, now))
		if rollout.obstacle != "" {
			text += "; pods may only be changed in place, but " + rollout.obstacle
		}
		return no(v1.ReasonRolledBack, "%s", text)
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
	before := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionProgressing)
	if now.cause == "" && before != nil && before.Reason == v1.ReasonRolledBack {
		return before.Message
	}
	text := fmt.Sprintf("revision %s has failed", now.rollout.revisions.Update.Name)
	if now.rollout.base == nil {
		text += ", and the one to return to is not known any more"
	} else {
		text += " and was rolled back to " + now.rollout.base.Name
	}
	if now.cause != "" {
		text += ": " + now.cause
	}
	return text
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
func progressing(r Report, counts v1.PodManagerStatus, now situation, ready, stalled verdict) verdict {
	yes := func(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }
	no := func(reason, message string) verdict { return verdict{metav1.ConditionFalse, reason, message} }
	switch {
	case ready.status == metav1.ConditionTrue:
		return no(v1.ReasonComplete, "all done")
	case stalled.reason != "":
		return no(stalled.reason, stalled.message)
	case ready.reason == v1.ReasonTerminating:
		return yes(v1.ReasonTerminating, "deleting the pods")
	case now.rollout.rolledBack:
		return yes(v1.ReasonRolledBack, rolledBack(r.Manager, now))
	case (ready.reason == v1.ReasonPaused || ready.reason == v1.ReasonHalted) && !r.Plan.acts():
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
	text += overdueHint(r)
	if ready.reason != v1.ReasonBackOff { // which tells the same
		text += disruptionHint(r, now.active)
	}
	if ready.reason == v1.ReasonRollingOut {
		text += undrainedHint(now.rollout)
	}
	return text
}

// misconfigured tells of what the spec asks for and cannot have; it has no reason if there is no such thing.
func misconfigured(manager *v1.PodManager) verdict {
	enough, most := manager.MaxFailedPods(), manager.DesiredReplicas()
	if manager.Strategy() == v1.RollingUpdateStrategy {
		most = min(most, manager.MaxSurge()+manager.MaxUnavailable())
	}
	if manager.OnFailure() == v1.ContinueOnFailure || manager.Strategy() == v1.OnDeleteStrategy || manager.DesiredReplicas() == 0 || enough <= most {
		return verdict{}
	}
	return verdict{metav1.ConditionTrue, v1.ReasonUnreachable, fmt.Sprintf(
		"failurePolicy.maxFailedPods is %s, but no more than %s are updated at a time: if none of them becomes ready, only progressDeadlineSeconds ends the rollout; lower maxFailedPods, or raise maxSurge or maxUnavailable",
		pods(enough), pods(most))}
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
