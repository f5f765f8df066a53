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
func readiness(r Report, counts v1.PodManagerStatus) verdict {
	switch {
	case r.Manager.DeletionTimestamp != nil:
		return notReady(v1.ReasonTerminating, "being deleted, %s left", pods(len(r.Pods)))
	case r.Failure != nil:
		return notReady(cmp.Or(r.Failure.Reason, r.Failure.Condition), "%s; %s", exist(r, counts), r.Failure.Message)
	case r.Budget.Desired == 0 && counts.Replicas == 0: // pods of any revision
		return verdict{metav1.ConditionTrue, v1.ReasonScaledToZero, "no pods wanted, none active"}
	}
	if verdict, found := rolloutReadiness(r, counts); found {
		return verdict
	}
	if verdict, found := podReadiness(r, counts); found {
		return verdict
	}
	switch available := fmt.Sprintf("%d of %s available", counts.AvailableReplicas, pods(r.Budget.Desired)); {
	case r.Rollout.DesiredUpdated() < r.Budget.Desired && !r.Rollout.RolledBack:
		return verdict{metav1.ConditionTrue, v1.ReasonPartition, fmt.Sprintf("%s; %d updated, %d not updated because of the partition",
			available, counts.UpdatedReplicas, len(r.Rollout.OldPods))}
	case r.Rollout.Outdated() > 0:
		return verdict{metav1.ConditionTrue, v1.ReasonUpdateOnDelete, fmt.Sprintf(
			"%s; %d outdated; when one is deleted, its replacement has the new template", available, r.Rollout.Outdated())}
	default:
		reason, bake := baking(r.Rollout.State)
		return verdict{metav1.ConditionTrue, reason, available + bake}
	}
}

// notReady returns the condition Ready when it is false.
func notReady(reason, format string, args ...any) verdict {
	return verdict{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}
}

// exist says how many pods exist.
func exist(r Report, counts v1.PodManagerStatus) string {
	return fmt.Sprintf("%d of %s %s", counts.Replicas, pods(r.Budget.Desired), verb(r.Budget.Desired, "exists", "exist"))
}

// podReadiness returns the condition Ready if pods are missing, too many, or not available, whatever their revision. Otherwise it returns false.
func podReadiness(r Report, counts v1.PodManagerStatus) (verdict, bool) {
	desired := int32(r.Budget.Desired)
	if reason, why := replacementProblem(r); reason != "" {
		return notReady(reason, "%d of %s available; %s; %s", counts.AvailableReplicas, pods(r.Budget.Desired), health.Diagnose(r.Active, r.Now), why), true
	}
	switch {
	case counts.Replicas < desired && r.Plan.Waiting != nil:
		return notReady(v1.ReasonBackOff, "%s; %s", exist(r, counts), r.Plan.Waiting), true
	case counts.Replicas < desired:
		return notReady(v1.ReasonTooFew, "%s", exist(r, counts)), true
	case counts.Replicas > desired:
		count := int(counts.Replicas)
		return notReady(v1.ReasonTooMany, "%s %s, %d wanted", pods(count), verb(count, "exists", "exist"), desired), true
	case counts.ReadyReplicas < desired:
		return notReady(v1.ReasonPodsNotReady, "%d of %s ready; %s", counts.ReadyReplicas, pods(r.Budget.Desired), health.Diagnose(r.Active, r.Now)), true
	case counts.AvailableReplicas < desired:
		return notReady(v1.ReasonMinReady, "%d of %s %s been ready for %d s", counts.AvailableReplicas, pods(r.Budget.Desired),
			verb(r.Budget.Desired, "has", "have"), r.Manager.Spec.MinReadySeconds), true
	default:
		return verdict{}, false
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
	return v1.ReasonBaking, fmt.Sprintf("; if they stay available until %s, %s becomes the revision that rollbacks return to", until, r.Revisions.Update.Name)
}

// rolloutReadiness returns the condition Ready if the rollout determines it, or false.
func rolloutReadiness(r Report, counts v1.PodManagerStatus) (verdict, bool) {
	rollout := r.Rollout
	updated := fmt.Sprintf("%d of %s updated", counts.UpdatedReplicas, pods(r.Budget.Desired))
	switch {
	case rollout.RolledBack:
		text := fmt.Sprintf("%d of %s available; %s", counts.AvailableReplicas, pods(r.Budget.Desired), rolledBack(r))
		if rollout.Obstacle != "" {
			text += "; pods may only be updated in place, but " + rollout.Obstacle
		}
		return notReady(v1.ReasonRolledBack, "%s", text), true
	case rollout.IsUnstarted():
		return notReady(v1.ReasonPaused, "%s", unstarted(counts, r.Budget.Desired)), true
	case rollout.IsHalted() && (rollout.Frozen == "" || rollout.Frozen == v1.ReasonHalted):
		return notReady(v1.ReasonHalted, "%s", halted(r, counts)), true
	case rollout.Frozen == v1.ReasonNotInPlace:
		return notReady(v1.ReasonNotInPlace, "%s; pods may only be updated in place, but %s", updated, rollout.Obstacle), true
	case rollout.Outdated() == 0 && health.DescribeStuckResize(r.Active, r.Now).Pod == nil:
		return verdict{}, false
	case rollout.Outdated() > 0 && rollout.Frozen == v1.ReasonPaused:
		return notReady(v1.ReasonPaused, "paused, %s", updated), true
	case rollout.Outdated() > 0 && rollout.Frozen == v1.ReasonUpdateOnDelete:
		// Outdated pods do not prevent Ready from being True: they may stay until the user deletes them.
		return verdict{}, false
	default:
		return rollingOut(r, counts, updated), true
	}
}

// rollingOut returns the condition Ready while pods move to another revision. It names the pod that the rollout waits for.
func rollingOut(r Report, counts v1.PodManagerStatus, updated string) verdict {
	text := fmt.Sprintf("%s, %d available", updated, counts.AvailableReplicas)
	switch isMoving := r.Rollout.Outdated() > 0; {
	case isMoving && hasUnplacedSurge(r):
		return notReady(v1.ReasonSurgeBlocked, "%s; %s; %s", text, health.Diagnose(r.Active, r.Now), makeRoom)
	case isMoving && counts.ReadyReplicas < counts.Replicas:
		return notReady(v1.ReasonRollingOut, "%s; %s", text, health.Diagnose(r.Active, r.Now))
	}
	if stuck := health.DescribeStuckResize(r.Active, r.Now); stuck.Pod != nil {
		text += "; " + stuck.String()
	}
	return notReady(v1.ReasonRollingOut, "%s", text)
}

// unstarted returns the message of a PodManager that was paused before it had all its pods.
func unstarted(counts v1.PodManagerStatus, desired int) string {
	if counts.Replicas == 0 {
		return "paused before the first pod; set paused to false to begin"
	}
	return fmt.Sprintf("paused with %d of %s adopted; set paused to false to create the others", counts.Replicas, pods(desired))
}

// halted returns the message of a halted rollout.
func halted(r Report, counts v1.PodManagerStatus) string {
	if areAllUpdated(r.Manager, &counts) {
		return fmt.Sprintf("every pod is updated to %s, but too many fail: %s", counts.UpdateRevision, failure(r.Rollout.State))
	}
	return fmt.Sprintf("halted with %s updated to %s: %s", pods(int(counts.UpdatedReplicas)), counts.UpdateRevision, failure(r.Rollout.State))
}

// areAllUpdated reports whether as many pods as desired are updated. A halt then comes too late to keep pods on the old revision.
func areAllUpdated(manager *v1.PodManager, counts *v1.PodManagerStatus) bool {
	return int(counts.UpdatedReplicas) >= manager.DesiredReplicas()
}

// failure describes the failing pods. It returns empty if there are none.
func failure(r *rollout.State) string {
	if found := health.DescribeFailure(r.FailingPods); found.Pod != nil || len(r.Gone) == 0 {
		return found.String()
	}
	var names []string
	for _, gone := range r.Gone[:min(len(r.Gone), maxGoneNames)] {
		names = append(names, gone.Name)
	}
	return strings.Join(names, ", ") + ": failed and gone, and no replacement works yet"
}

// maxGoneNames is the maximum number of deleted pods that a message names.
const maxGoneNames = 3

// rolledBack returns the message of a rollback. Its cause is known only in the sync in which the revision fails. Later syncs take it from the message
// that Progressing has in the status.
func rolledBack(r Report) string {
	before := meta.FindStatusCondition(r.Manager.Status.Conditions, v1.ConditionProgressing)
	if r.Rollout.Failed == nil && before != nil && before.Reason == v1.ReasonRolledBack && r.Rollout.Old != nil {
		return before.Message
	}
	text := fmt.Sprintf("revision %s has failed", r.Rollout.Revisions.Update.Name)
	if r.Rollout.Old == nil {
		text += ", and the revision to return to no longer exists"
	} else {
		text += " and is rolled back to " + r.Rollout.Old.Name
	}
	switch {
	case r.Rollout.Failed == nil:
		return text
	case r.Rollout.RecoveryExpired:
		return text + ": " + failure(r.Rollout.Failed)
	default:
		return text + ": its pods did not become available in time"
	}
}

// worstPod describes the pod that keeps the rollout from making progress.
func worstPod(r Report) string {
	return cmp.Or(failure(r.Rollout.State), health.Diagnose(r.Active, r.Now).String(), health.DescribeStuckResize(r.Active, r.Now).String(), "all pods are ready")
}
