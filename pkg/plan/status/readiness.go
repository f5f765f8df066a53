package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/rollout"
)

// readiness returns the condition Ready, which names the first difference between the pods and the spec.
func readiness(r Report, counts v1.PodManagerStatus, in inputs) verdict {
	desired := int32(r.Manager.DesiredReplicas())
	no := func(reason, format string, args ...any) verdict {
		return verdict{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}
	}
	exist := fmt.Sprintf("%d of %s exist", counts.Replicas, pods(int(desired)))
	switch {
	case r.Manager.DeletionTimestamp != nil:
		return no(v1.ReasonTerminating, "being deleted, %s left", pods(len(r.Pods)))
	case r.Failure != nil:
		return no(cmp.Or(r.Failure.Reason, r.Failure.Condition), "%s; %s", exist, r.Failure.Message)
	case desired == 0 && counts.Replicas == 0: // of any revision
		return verdict{metav1.ConditionTrue, v1.ReasonScaledToZero, "no pods wanted, none running"}
	}
	if verdict, found := rolloutReadiness(r, counts, in); found {
		return verdict
	}
	if reason, why := replacementProblem(r, in); reason != "" {
		return no(reason, "%d of %s available; %s; %s", counts.AvailableReplicas, pods(int(desired)), health.Diagnose(in.active, in.rollout.Now), why)
	}
	switch {
	case counts.Replicas < desired && r.Plan.Waiting != nil:
		return no(v1.ReasonBackOff, "%s; %s", exist, r.Plan.Waiting)
	case counts.Replicas < desired:
		return no(v1.ReasonTooFew, "%s", exist)
	case counts.Replicas > desired:
		return no(v1.ReasonTooMany, "%s exist, %d wanted", pods(int(counts.Replicas)), desired)
	case counts.ReadyReplicas < desired:
		return no(v1.ReasonPodsNotReady, "%d of %s ready; %s", counts.ReadyReplicas, pods(int(desired)), health.Diagnose(in.active, in.rollout.Now))
	case counts.AvailableReplicas < desired:
		return no(v1.ReasonMinReady, "%d of %s have been ready for %d s", counts.AvailableReplicas, pods(int(desired)),
			r.Manager.Spec.MinReadySeconds)
	case in.rollout.DesiredUpdated() < int(desired) && !in.rollout.RolledBack:
		return verdict{metav1.ConditionTrue, v1.ReasonPartition, fmt.Sprintf("%d of %s available; %d updated, %d left as they were by the partition",
			counts.AvailableReplicas, pods(int(desired)), counts.UpdatedReplicas, len(in.rollout.OldPods))}
	case in.rollout.Outdated() > 0:
		return verdict{metav1.ConditionTrue, v1.ReasonUpdateOnDelete, fmt.Sprintf("%d of %s available; %d outdated, each is updated when it is deleted",
			counts.AvailableReplicas, pods(int(desired)), in.rollout.Outdated())}
	default:
		reason, bake := baking(in.rollout)
		return verdict{metav1.ConditionTrue, reason, fmt.Sprintf("%d of %s available%s", counts.AvailableReplicas, pods(int(desired)), bake)}
	}
}

// baking returns the reason of Ready when all pods are updated and available. If there is an old revision to return to, the message says until when
// the new one has to prove itself. The time is absolute, so that the message does not change with every sync.
func baking(r *rollout.State) (reason, message string) {
	wait, started := r.UntilProven()
	if r.Old == nil || !started || wait == 0 {
		return v1.ReasonAllAvailable, ""
	}
	until := rollout.WholeSecond(r.Now.Add(wait)).UTC().Format(time.RFC3339)
	return v1.ReasonBaking, fmt.Sprintf("; if they stay so until %s, %s is the revision to return to", until, r.Revisions.Update.Name)
}

// rolloutReadiness returns the condition Ready if the rollout determines it, or false.
func rolloutReadiness(r Report, counts v1.PodManagerStatus, in inputs) (verdict, bool) {
	no := func(reason, format string, args ...any) (verdict, bool) {
		return verdict{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}, true
	}
	rollout := in.rollout
	updated := fmt.Sprintf("%d of %s updated", counts.UpdatedReplicas, pods(r.Manager.DesiredReplicas()))
	switch {
	case rollout.RolledBack:
		text := fmt.Sprintf("%d of %s available; %s", counts.AvailableReplicas, pods(r.Manager.DesiredReplicas()), rolledBack(r.Manager, in))
		if rollout.Obstacle != "" {
			text += "; pods may only be updated in place, but " + rollout.Obstacle
		}
		return no(v1.ReasonRolledBack, "%s", text)
	case rollout.IsUnstarted():
		return no(v1.ReasonPaused, "%s", unstarted(counts, r.Manager.DesiredReplicas()))
	case rollout.IsHalted() && (rollout.Frozen == "" || rollout.Frozen == v1.ReasonHalted):
		return no(v1.ReasonHalted, "%s", halted(counts, in))
	case rollout.Frozen == v1.ReasonNotInPlace:
		return no(v1.ReasonNotInPlace, "%s; pods may only be updated in place, but %s", updated, rollout.Obstacle)
	case rollout.Outdated() == 0 && health.DescribeStuckResize(in.active, in.rollout.Now).Pod != nil:
		return no(v1.ReasonRollingOut, "%s, %d available; %s", updated, counts.AvailableReplicas, health.DescribeStuckResize(in.active, in.rollout.Now))
	case rollout.Outdated() == 0:
		return verdict{}, false
	case rollout.Frozen == v1.ReasonPaused:
		return no(v1.ReasonPaused, "paused, %s", updated)
	case rollout.Frozen == v1.ReasonUpdateOnDelete:
		// Outdated pods do not prevent Ready from being True: they may stay until the user deletes them.
		return verdict{}, false
	case in.hasUnplacedSurge():
		return no(v1.ReasonSurgeBlocked, "%s, %d available; %s; %s", updated, counts.AvailableReplicas, health.Diagnose(in.active, in.rollout.Now), makeRoom)
	case counts.ReadyReplicas < counts.Replicas:
		return no(v1.ReasonRollingOut, "%s, %d available; %s", updated, counts.AvailableReplicas, health.Diagnose(in.active, in.rollout.Now))
	case health.DescribeStuckResize(in.active, in.rollout.Now).Pod != nil:
		return no(v1.ReasonRollingOut, "%s, %d available; %s", updated, counts.AvailableReplicas, health.DescribeStuckResize(in.active, in.rollout.Now))
	default:
		return no(v1.ReasonRollingOut, "%s, %d available", updated, counts.AvailableReplicas)
	}
}

// unstarted returns the message of a PodManager that was paused before it had all its pods.
func unstarted(counts v1.PodManagerStatus, desired int) string {
	if counts.Replicas == 0 {
		return "paused before the first pod; set paused to false to begin"
	}
	return fmt.Sprintf("paused with %d of %s adopted; set paused to false to create the others", counts.Replicas, pods(desired))
}

// halted returns the message of a halted rollout.
func halted(counts v1.PodManagerStatus, in inputs) string {
	if manager := in.rollout.Manager; areAllUpdated(manager, &counts) {
		return fmt.Sprintf("all of %s updated to %s, and too many fail: %s", pods(manager.DesiredReplicas()), counts.UpdateRevision, failure(in.rollout))
	}
	return fmt.Sprintf("halted with %s updated to %s: %s", pods(int(counts.UpdatedReplicas)), counts.UpdateRevision, failure(in.rollout))
}

// areAllUpdated reports whether a halt comes too late to keep a pod on its revision.
func areAllUpdated(manager *v1.PodManager, counts *v1.PodManagerStatus) bool {
	return int(counts.UpdatedReplicas) >= manager.DesiredReplicas()
}

// failure describes the failing pods. It returns empty if there are none.
func failure(r *rollout.State) string {
	if found := health.DescribeFailure(r.FailingPods); found.Pod != nil || len(r.GonePods) == 0 {
		return found.String()
	}
	return strings.Join(r.GonePods[:min(len(r.GonePods), maxGoneNames)], ", ") + " failed, and was deleted before a replacement has shown that it can serve"
}

// maxGoneNames is the maximum number of deleted pods that a message names.
const maxGoneNames = 3

// rolledBack returns the message of a rollback. Its cause is known only when the revision fails. Later syncs keep the message of Progressing.
func rolledBack(manager *v1.PodManager, in inputs) string {
	before := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionProgressing)
	if in.cause == "" && before != nil && before.Reason == v1.ReasonRolledBack && in.rollout.Old != nil {
		return before.Message
	}
	text := fmt.Sprintf("revision %s has failed", in.rollout.Revisions.Update.Name)
	if in.rollout.Old == nil {
		text += ", and the revision to return to no longer exists"
	} else {
		text += " and was rolled back to " + in.rollout.Old.Name
	}
	if in.cause != "" {
		text += ": " + in.cause
	}
	return text
}

// worstPod describes the pod that keeps the rollout from making progress.
func worstPod(in inputs) string {
	return cmp.Or(failure(in.rollout), health.Diagnose(in.active, in.rollout.Now).String(), health.DescribeStuckResize(in.active, in.rollout.Now).String(), "all pods are ready")
}
