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

// conditions are the conditions that follow from the counts. Those that stay as they are keep their transition time.
func conditions(r Report, counts v1.PodManagerStatus, active []*corev1.Pod) []metav1.Condition {
	ready := readiness(r, counts, active)
	list := slices.Clone(r.Manager.Status.Conditions)
	set := func(kind string, v verdict) {
		meta.SetStatusCondition(&list, metav1.Condition{
			Type: kind, Status: v.status, Reason: v.reason, Message: v.message,
			ObservedGeneration: r.Manager.Generation, LastTransitionTime: metav1.NewTime(r.Now),
		})
	}
	ready.message += foreignHint(r.Foreign)
	set(v1.ConditionReady, ready)
	set(v1.ConditionAvailable, availability(r.Manager, counts))
	set(v1.ConditionProgressing, progress(r, counts, ready))

	// The next two exist only while they are true, as kstatus and ReplicaSet have it.
	if r.Failure != nil {
		set(v1.ConditionReplicaFailure, verdict{metav1.ConditionTrue, r.Failure.Condition, r.Failure.Message})
	} else {
		meta.RemoveStatusCondition(&list, v1.ConditionReplicaFailure)
	}
	if isStalled(r) {
		set(v1.ConditionStalled, verdict{metav1.ConditionTrue, r.Failure.Reason, r.Failure.Message})
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

// isStalled tells whether the controller will not get further until somebody changes the spec, a quota or a policy.
func isStalled(r Report) bool { return r.Failure != nil && r.Failure.Refused() }

// readiness is the first thing that stands between the pods and the spec.
func readiness(r Report, counts v1.PodManagerStatus, active []*corev1.Pod) verdict {
	wanted := int32(r.Manager.DesiredReplicas())
	no := func(reason, format string, args ...any) verdict {
		return verdict{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}
	}
	switch {
	case r.Manager.DeletionTimestamp != nil:
		return no(v1.ReasonTerminating, "being deleted, %s left", pods(len(r.Pods)))
	case r.Failure != nil:
		return no(cmp.Or(r.Failure.Reason, r.Failure.Condition), "%d of %s exist; %s", counts.Replicas, pods(int(wanted)), r.Failure.Message)
	case counts.Replicas < wanted && r.Waiting != nil:
		return no(v1.ReasonBackOff, "%d of %s exist; %s", counts.Replicas, pods(int(wanted)), r.Waiting)
	case counts.Replicas < wanted:
		return no(v1.ReasonTooFew, "%d of %s exist", counts.Replicas, pods(int(wanted)))
	case counts.Replicas > wanted:
		return no(v1.ReasonTooMany, "%s exist, %d wanted", pods(int(counts.Replicas)), wanted)
	case counts.ReadyReplicas < wanted:
		return no(v1.ReasonPodsNotReady, "%d of %s ready; %s", counts.ReadyReplicas, pods(int(wanted)), diagnose(active))
	case counts.UpdatedReplicas < wanted:
		return no(v1.ReasonOutdatedPods, "%d of %s run the present template; the others get it when they are deleted",
			counts.UpdatedReplicas, pods(int(wanted)))
	case counts.AvailableReplicas < wanted:
		return no(v1.ReasonMinReady, "%d of %s have been ready for %d s", counts.AvailableReplicas, pods(int(wanted)),
			r.Manager.Spec.MinReadySeconds)
	case wanted == 0:
		return verdict{metav1.ConditionTrue, v1.ReasonScaledToZero, "no pods wanted, none running"}
	default:
		return verdict{metav1.ConditionTrue, v1.ReasonAllAvailable,
			fmt.Sprintf("%d of %s available", counts.AvailableReplicas, pods(int(wanted)))}
	}
}

func availability(manager *v1.PodManager, counts v1.PodManagerStatus) verdict {
	wanted := manager.DesiredReplicas()
	message := fmt.Sprintf("%d of %s available", counts.AvailableReplicas, pods(wanted))
	if int(counts.AvailableReplicas) < wanted {
		return verdict{metav1.ConditionFalse, v1.ReasonNotEnough, message}
	}
	return verdict{metav1.ConditionTrue, v1.ReasonEnough, message}
}

func progress(r Report, counts v1.PodManagerStatus, ready verdict) verdict {
	switch {
	case ready.status == metav1.ConditionTrue:
		return verdict{metav1.ConditionFalse, v1.ReasonComplete, "all done"}
	case isStalled(r):
		return verdict{metav1.ConditionFalse, r.Failure.Reason, "stalled; see the condition Stalled"}
	case ready.reason == v1.ReasonTerminating:
		return verdict{metav1.ConditionTrue, v1.ReasonTerminating, "deleting the pods"}
	case ready.reason == v1.ReasonBackOff:
		return verdict{metav1.ConditionTrue, v1.ReasonBackOff, "waiting to replace a failed pod"}
	case int(counts.Replicas) != r.Manager.DesiredReplicas():
		return verdict{metav1.ConditionTrue, v1.ReasonScaling, "creating or deleting pods"}
	case ready.reason == v1.ReasonOutdatedPods:
		return verdict{metav1.ConditionFalse, v1.ReasonOutdatedPods, "pods of an older template wait to be deleted"}
	default:
		return verdict{metav1.ConditionTrue, v1.ReasonWaitingOnPods, "waiting for pods to become available"}
	}
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
