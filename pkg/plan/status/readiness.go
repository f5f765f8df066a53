package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
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
		return verdict{metav1.ConditionTrue, v1.ReasonScaledToZero, "no pods wanted, none active" + failedBefore(r)}
	}
	if verdict, found := rolloutReadiness(r, counts); found {
		return withDeadline(r, counts, verdict)
	}
	if verdict, found := podReadiness(r, counts); found {
		return withDeadline(r, counts, verdict)
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

// failedBefore says that the new revision has failed before all pods were stopped, because that decides which pods a scale-up creates.
func failedBefore(r Report) string {
	switch update := r.Rollout.Revisions.Update.Name; {
	case r.Rollout.RolledBack:
		return "; " + returning(r)
	case r.Rollout.TooManyFail():
		return fmt.Sprintf("; the rollout of revision %s is halted: %s", update, failure(r.Rollout.State))
	default:
		return ""
	}
}

// withDeadline returns the condition Ready when it is false, and says so if the rollout has missed its deadline. A reason that says more about the
// cause is kept, and deadlineHint adds the deadline.
func withDeadline(r Report, counts v1.PodManagerStatus, v verdict) verdict {
	isGeneral := v.reason == v1.ReasonRollingOut || v.reason == v1.ReasonPodsNotReady || v.reason == v1.ReasonMinReady
	if !isGeneral || !r.Rollout.DeadlineExceeded || isStuck(r, counts) {
		return v
	}
	return notReady(v1.ReasonDeadline, "%d of %s updated, %d available; %s", counts.UpdatedReplicas, pods(r.Budget.Desired), counts.AvailableReplicas,
		missedDeadline(r, counts))
}

// missedDeadline says that the rollout has missed its deadline, and which pod it waits for.
func missedDeadline(r Report, counts v1.PodManagerStatus) string {
	return fmt.Sprintf("no further pod of revision %s has become available for %v; %s", counts.UpdateRevision, r.Manager.ProgressDeadline(), worstPod(r))
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
	case showsHalt(rollout):
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

// showsHalt reports whether the rollout is halted, and nothing else keeps outdated pods from being updated. A pause with no outdated pod hides nothing.
func showsHalt(rollout *rollout.Conclusion) bool {
	isFrozen := rollout.Frozen != "" && rollout.Frozen != v1.ReasonHalted && (rollout.Frozen != v1.ReasonPaused || rollout.Outdated() > 0)
	return rollout.IsHalted() && !isFrozen
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
	why := failure(r.Rollout.State)
	if isGone(r.Rollout.State) {
		why += fmt.Sprintf(": correct the template, or run kubectl pm undo %[1]s or kubectl pm retry %[1]s", r.Manager.Name)
	}
	if r.Manager.Spec.Paused && r.Manager.OnFailure() == v1.RollbackOnFailure {
		why += "; paused, so it is not rolled back"
	}
	if areAllUpdated(r.Manager, &counts) {
		return fmt.Sprintf("every pod is updated to %s, but too many fail: %s", counts.UpdateRevision, why)
	}
	return fmt.Sprintf("halted with %s updated to %s: %s", pods(int(counts.UpdatedReplicas)), counts.UpdateRevision, why)
}

// areAllUpdated reports whether as many pods as desired are updated. A halt then comes too late to keep pods on the old revision.
func areAllUpdated(manager *v1.PodManager, counts *v1.PodManagerStatus) bool {
	return int(counts.UpdatedReplicas) >= manager.DesiredReplicas()
}

// failure describes the failing pods. It returns empty if there are none. Failing pods that are gone are not named: other pods may have their names.
func failure(r *rollout.State) string {
	count := len(r.Gone)
	switch found := health.DescribeFailure(r.FailingPods); {
	case found.Pod != nil || count == 0:
		return found.String()
	case isGone(r):
		return fmt.Sprintf("%s of it failed and %s gone, and no pod replaces %s", pods(count), verb(count, "is", "are"), verb(count, "it", "them"))
	default:
		return fmt.Sprintf("%s of it failed and %s gone, and no replacement works yet", pods(count), verb(count, "is", "are"))
	}
}

// isGone reports whether all failing pods are gone, and no replacement will be created, because no pod is missing.
func isGone(r *rollout.State) bool {
	return len(r.Gone) > 0 && len(r.FailingPods) == 0 && len(r.UpdatedPods)+len(r.OldPods)+len(r.MustMovePods) >= r.Desired
}

// rolledBack returns the message of a rollback. Its cause is known only in the sync in which the revision fails. Later syncs take it from the message
// that Progressing has in the status.
func rolledBack(r Report) string {
	before := meta.FindStatusCondition(r.Manager.Status.Conditions, v1.ConditionProgressing)
	if r.Rollout.Failed == nil && before != nil && before.Reason == v1.ReasonRolledBack && r.Rollout.Old != nil {
		return before.Message
	}
	var causes []string
	if r.Rollout.Failed != nil && !r.Rollout.RecoveryExpired {
		causes = append(causes, "its pods did not become available in time")
	}
	if evidence := lastEvidence(r); evidence != "" {
		causes = append(causes, evidence)
	}
	if len(causes) == 0 {
		return returning(r)
	}
	return returning(r) + ": " + strings.Join(causes, "; ")
}

// returning says which revision has failed, and to which one its pods return.
func returning(r Report) string {
	failed := r.Rollout.Revisions.Update.Name
	if r.Rollout.Old == nil {
		return fmt.Sprintf("revision %s has failed, and the revision to return to no longer exists", failed)
	}
	return fmt.Sprintf("revision %s has failed and is rolled back to %s", failed, r.Rollout.Old.Name)
}

// lastEvidence describes the pod that shows best why a revision has failed. If the revision does not fail in this sync, but was marked as failed
// before the user chose rollbacks, it is one of the pods that the status names as failing. It may be terminating by now.
func lastEvidence(r Report) string {
	if failed := r.Rollout.Failed; failed != nil {
		return cmp.Or(failure(failed), health.Diagnose(failed.UpdatedPods, r.Now).String(), health.DescribeStuckResize(failed.UpdatedPods, r.Now).String())
	}
	var named []*corev1.Pod
	if record := r.Manager.Status.Rollout; record != nil && record.Revision == r.Rollout.Revisions.Update.Name {
		isNamed := func(pod *corev1.Pod) bool {
			return slices.ContainsFunc(record.Failing, func(f v1.FailingPod) bool { return f.UID == pod.UID && !f.Recovered })
		}
		named = slices.DeleteFunc(slices.Clone(r.Pods), func(pod *corev1.Pod) bool { return !isNamed(pod) })
	}
	return cmp.Or(health.DescribeFailure(named).String(), health.Diagnose(r.Rollout.UpdatedPods, r.Now).String())
}

// worstPod describes the pod that keeps the rollout from making progress.
func worstPod(r Report) string {
	return cmp.Or(failure(r.Rollout.State), health.Diagnose(r.Active, r.Now).String(), health.DescribeStuckResize(r.Active, r.Now).String(), "all pods are ready")
}
