package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/health"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// verdict is a condition without its type.
type verdict struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

// conditions returns the conditions of the new status. A condition whose status does not change keeps its transition time.
func conditions(r Report, counts v1.PodManagerStatus) []metav1.Condition {
	list := slices.Clone(r.Manager.Status.Conditions)
	set := func(kind string, v verdict) {
		meta.SetStatusCondition(&list, metav1.Condition{
			Type: kind, Status: v.status, Reason: v.reason, Message: v.message,
			ObservedGeneration: r.Manager.Generation, LastTransitionTime: metav1.NewTime(r.Now),
		})
	}
	ready := readiness(r, counts)
	stalled := stalling(r, counts, ready)
	ready.message += hints(r, ready)
	set(v1.ConditionReady, ready)
	set(v1.ConditionAvailable, availability(r, counts))
	set(v1.ConditionProgressing, progressing(r, counts, ready, stalled))

	// The other conditions exist only while they are true, as in kstatus and ReplicaSet.
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
	setIf(v1.ConditionMisconfigured, misconfigured(r))
	return list
}

// Broken returns the status of a PodManager that the controller cannot handle. The counts do not change.
func Broken(manager *v1.PodManager, reason, message string, now time.Time) v1.PodManagerStatus {
	status := *manager.Status.DeepCopy()
	for _, condition := range []metav1.Condition{
		{Type: v1.ConditionReady, Status: metav1.ConditionFalse}, {Type: v1.ConditionStalled, Status: metav1.ConditionTrue},
	} {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: condition.Type, Status: condition.Status, Reason: reason, Message: message,
			ObservedGeneration: manager.Generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	status.ObservedGeneration = manager.Generation
	return status
}

// stalling returns the condition Stalled: why the controller cannot continue until a user acts, usually by a change of the spec, a quota or a policy.
// The condition has no reason if the controller can continue, or has nothing left to do. While the plan acts on pods, only a refusal sets it.
func stalling(r Report, counts v1.PodManagerStatus, ready verdict) verdict {
	yes := func(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }
	switch {
	case ready.status == metav1.ConditionTrue:
		return verdict{}
	case r.Failure != nil && r.Failure.Refused() && !isQuotaAboutToBeFree(r):
		return yes(r.Failure.Reason, r.Failure.Message)
	case r.Rollout == nil || r.Plan.ActsOnPods:
		return verdict{}
	case r.Rollout.RolledBack && r.Rollout.HasReturned():
		return yes(v1.ReasonRolledBack, rolledBack(r))
	case r.Rollout.RolledBack:
		return verdict{}
	case r.Rollout.Frozen == v1.ReasonNotInPlace:
		return yes(v1.ReasonNotInPlace, r.Rollout.Obstacle)
	case r.Rollout.IsHalted() && r.Rollout.RecoveryExpired:
		return yes(v1.ReasonHalted, halted(r, counts))
	case isStuck(r, counts):
		return yes(v1.ReasonStuck, strings.TrimPrefix(overdueHint(r), "; "))
	case r.Rollout.DeadlineExceeded:
		return yes(v1.ReasonDeadline, missedDeadline(r, counts))
	default:
		return verdict{}
	}
}

// stalledRecheck is the delay until the next sync if the plan acts on pods and the PodManager may be stalled afterwards. The events of the
// controller's own requests do not start a sync.
const stalledRecheck = time.Second

// nextChange returns when conditions may change without an event: after the plan has acted on pods, when a terminating pod becomes overdue, when a
// surge pod has had no node for too long, when the replacement of a leaving pod is late or blocked, or when a node has not accepted a pod for too
// long.
func nextChange(r Report) requeue.Requeue {
	again := requeue.After(r.Now, untilOverdue(r), requeue.RequeueTerminating)
	_, untilBlocked := unplacedSurge(r)
	again = again.Sooner(requeue.After(r.Now, requeue.Sooner(untilBlocked, untilReplacementProblem(r)), requeue.RequeueStatus))
	again = again.Sooner(requeue.After(r.Now, health.UntilNodeIsNamed(r.Active, r.Now), requeue.RequeueStatus))
	if r.Plan.ActsOnPods && (r.Rollout.RolledBack || r.Rollout.IsHalted() || r.Rollout.Obstacle != "" || r.Rollout.DeadlineExceeded) {
		again = again.Sooner(requeue.After(r.Now, stalledRecheck, requeue.RequeueStatus))
	}
	return again
}

// availability returns the condition Available. Pods that leave serve until they are gone.
func availability(r Report, counts v1.PodManagerStatus) verdict {
	available, budget := int(counts.AvailableReplicas), r.Budget
	message := fmt.Sprintf("%d of %s available", available, pods(budget.Desired))
	leaving := 0
	for _, pod := range r.Leaving {
		if health.IsAvailable(pod.Pod, r.Manager.MinReady(), r.Now) {
			leaving++
		}
	}
	if leaving > 0 {
		message += fmt.Sprintf(", plus %d leaving", leaving)
	}
	if available+leaving < budget.MinAvailableToServe {
		return verdict{metav1.ConditionFalse, v1.ReasonNotEnough, message}
	}
	return verdict{metav1.ConditionTrue, v1.ReasonEnough, message}
}

// progressing returns the condition Progressing: what the controller is doing, or why it does nothing.
func progressing(r Report, counts v1.PodManagerStatus, ready, stalled verdict) verdict {
	yes := func(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }
	no := func(reason, message string) verdict { return verdict{metav1.ConditionFalse, reason, message} }
	switch {
	case ready.status == metav1.ConditionTrue:
		return no(v1.ReasonComplete, "all wanted pods are available")
	case stalled.reason != "":
		return no(stalled.reason, stalled.message)
	case ready.reason == v1.ReasonTerminating:
		return yes(v1.ReasonTerminating, "the PodManager is being deleted")
	case r.Rollout.RolledBack:
		return yes(v1.ReasonRolledBack, rolledBack(r))
	case (ready.reason == v1.ReasonPaused || ready.reason == v1.ReasonHalted) && !r.Plan.ActsOnPods:
		return no(ready.reason, ready.message)
	case ready.reason == v1.ReasonRollingOut || ready.reason == v1.ReasonSurgeBlocked || ready.reason == v1.ReasonDeadline:
		return yes(v1.ReasonRollingOut, "rolling out revision "+counts.UpdateRevision)
	case ready.reason == v1.ReasonBackOff:
		return yes(v1.ReasonBackOff, "waiting to replace a failed pod")
	case int(counts.Replicas) != r.Budget.Desired:
		return yes(v1.ReasonScaling, "creating or deleting pods")
	default:
		return yes(v1.ReasonWaitingOnPods, "waiting for pods to become available")
	}
}

// misconfigured returns the condition Misconfigured, which is true if the spec has settings that cannot take effect. Otherwise it has no reason. The
// first setting determines the reason, and the message names all.
func misconfigured(r Report) verdict {
	var reason string
	var messages []string
	for _, find := range []func(Report) (reason, message string){forbiddenNodes, uselessFailurePolicy, uselessGracePeriod} {
		if found, message := find(r); found != "" {
			reason, messages = cmp.Or(reason, found), append(messages, message)
		}
	}
	if reason == "" {
		return verdict{}
	}
	return verdict{metav1.ConditionTrue, reason, strings.Join(messages, "; ")}
}

func forbiddenNodes(r Report) (reason, message string) {
	if !r.Plan.NodesForbidden || !r.Manager.NeedsNodes() {
		return "", ""
	}
	return v1.ReasonNodesForbidden, "disruption.onDrain and disruption.nodeLoss have no effect: the controller may not watch nodes; bind a ClusterRole " +
		"with list and watch of nodes to its ServiceAccount, or remove these settings"
}

func uselessGracePeriod(r Report) (reason, message string) {
	rolling := r.Manager.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.InPlaceGracePeriodSeconds == 0 || r.Manager.PodUpdatePolicy() != v1.RecreatePods {
		return "", ""
	}
	return v1.ReasonGraceNoEffect, "rollingUpdate.inPlaceGracePeriodSeconds has no effect, because podUpdatePolicy is Recreate: set podUpdatePolicy to " +
		"InPlaceIfPossible, or remove inPlaceGracePeriodSeconds"
}

func uselessFailurePolicy(r Report) (reason, message string) {
	manager := r.Manager
	maxFailed, maxUpdating := manager.FailureThreshold(), min(r.Budget.Desired-manager.Partition(), r.Budget.MaxSurge+r.Budget.MaxUnavailable)
	switch {
	case manager.OnFailure() == v1.RollbackOnFailure && manager.Strategy() == v1.OnDeleteStrategy:
		return v1.ReasonNoEffect, "failurePolicy.onFailure is Rollback, but with OnDelete only you replace pods: the controller can neither roll back nor " +
			"halt anything"
	case manager.OnFailure() == v1.ContinueOnFailure || manager.Strategy() == v1.OnDeleteStrategy || maxUpdating == 0 || maxFailed <= maxUpdating:
		return "", ""
	}
	return v1.ReasonUnreachable, fmt.Sprintf("failurePolicy.failureThreshold is %s, but the rollout updates at most %s at a time: if none of them "+
		"becomes ready, only progressDeadlineSeconds ends the rollout; lower failureThreshold%s",
		pods(maxFailed), pods(maxUpdating), raiseUpdating(r, maxFailed))
}

// raiseUpdating returns what a user can do, instead of lowering failureThreshold, so that the rollout updates this many pods at a time. It returns
// empty if there are not that many pods.
func raiseUpdating(r Report, wanted int) string {
	isHeldBack, isLimited := r.Budget.Desired-r.Manager.Partition() < wanted, r.Budget.MaxSurge+r.Budget.MaxUnavailable < wanted
	switch {
	case r.Budget.Desired < wanted:
		return ""
	case isHeldBack && isLimited:
		return ", or lower the partition and raise maxSurge or maxUnavailable"
	case isHeldBack:
		return " or the partition"
	default:
		return ", or raise maxSurge or maxUnavailable"
	}
}

// pods formats a number of pods: 1 pod, 2 pods.
func pods(count int) string {
	if count == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", count)
}

// verb returns the form of a verb that goes with a number of pods: 1 pod exists, 2 pods exist.
func verb(count int, one, many string) string {
	if count == 1 {
		return one
	}
	return many
}

// alike says how many more pods are in the same state as one that was named. It returns empty if there are none.
func alike(more int, state string) string {
	if more == 0 {
		return ""
	}
	return fmt.Sprintf("; %d more %s %s, too", more, verb(more, "is", "are"), state)
}
