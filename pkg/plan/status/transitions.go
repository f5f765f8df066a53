package status

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Transition is a step of a rollout that becomes an event.
type Transition struct {
	// Type and Reason are the type and the reason of the event.
	Type    string
	Reason  string
	Message string
}

// Transitions returns the steps between two statuses. The controller emits them once the new status is written, so that each event is emitted only
// once, however often the controller restarts.
func Transitions(manager *v1.PodManager, old, status *v1.PodManagerStatus) []Transition {
	var steps []Transition
	add := func(kind, reason, format string, args ...any) {
		steps = append(steps, Transition{kind, reason, fmt.Sprintf(format, args...)})
	}
	if what := started(old, status); what != "" {
		if cause := manager.Annotations[v1.AnnotationChangeCause]; cause != "" {
			what += ": " + cause
		}
		add(corev1.EventTypeNormal, v1.EventStarted, "%s", what)
	}
	steps = append(steps, ofReady(manager, old, status)...)
	if old.FailedRevision != status.FailedRevision && status.FailedRevision != "" {
		why := "revision " + status.FailedRevision + " has failed"
		if reasonOf(status, v1.ConditionProgressing) == v1.ReasonRolledBack { // and not the refusal of a request
			why = messageOf(status, v1.ConditionProgressing)
		}
		add(corev1.EventTypeWarning, v1.EventRolledBack, "Rolling back: %s", why)
	}
	if isDeadlineExceeded(manager, status) && !isDeadlineExceeded(manager, old) {
		add(corev1.EventTypeWarning, v1.EventDeadline, "%s", cmp.Or(messageOf(status, v1.ConditionStalled), messageOf(status, v1.ConditionReady)))
	}
	if isCompleted(manager, old, status) {
		bake := ""
		if status.CurrentRevision != status.UpdateRevision { // it may still fail
			bake = ", and the bake time begins"
		}
		add(corev1.EventTypeNormal, v1.EventCompleted, "Revision %s is rolled out: %s available%s", status.UpdateRevision,
			pods(int(status.AvailableReplicas)), bake)
	}
	return steps
}

// started returns which rollout has begun, or empty if none has. The first revision needs no event, because the events about created pods already
// show it.
func started(old, status *v1.PodManagerStatus) string {
	switch {
	case old.UpdateRevision == "" || old.UpdateRevision == status.UpdateRevision:
		return ""
	case status.UpdateRevision != status.CurrentRevision:
		return fmt.Sprintf("Rolling out revision %s, image %s", status.UpdateRevision, status.Image)
	case areAllAvailable(status):
		return ""
	default:
		return fmt.Sprintf("Returning to revision %s, image %s", status.UpdateRevision, status.Image)
	}
}

// ofReady returns the steps that a new reason of Ready shows.
func ofReady(manager *v1.PodManager, old, status *v1.PodManagerStatus) (steps []Transition) {
	before, after := reasonOf(old, v1.ConditionReady), reasonOf(status, v1.ConditionReady)
	if before == after {
		return nil
	}
	if before == v1.ReasonPaused && !manager.Spec.Paused { // while it is paused, a refused request is another reason
		steps = append(steps, Transition{corev1.EventTypeNormal, v1.EventResumed, "Resumed the rollout of revision " + status.UpdateRevision})
	}
	if after == v1.ReasonPaused && old.ObservedGeneration == status.ObservedGeneration {
		// Only a change of the spec begins a pause. This one shows again, for example after a refused request.
		return steps
	}
	if step, found := transitionTo(after, manager, status); found {
		steps = append(steps, step)
	}
	return steps
}

// transitionTo returns the event for a new reason of Ready. Its message is the condition's. It returns false if the reason has no event.
func transitionTo(reason string, manager *v1.PodManager, status *v1.PodManagerStatus) (Transition, bool) {
	message := messageOf(status, v1.ConditionReady)
	switch reason {
	case v1.ReasonPaused:
		return Transition{corev1.EventTypeNormal, v1.EventPaused, "Paused the rollout of revision " + status.UpdateRevision}, true
	case v1.ReasonPartition:
		return Transition{corev1.EventTypeNormal, v1.EventPartition, "The partition is reached: " + message}, true
	case v1.ReasonHalted:
		return Transition{corev1.EventTypeWarning, v1.EventHalted, haltOf(manager, status) + ": " + message}, true
	case v1.ReasonSurgeBlocked:
		return Transition{corev1.EventTypeWarning, v1.EventSurgeBlocked, message}, true
	case v1.ReasonReplacementLate:
		return Transition{corev1.EventTypeWarning, v1.EventReplacementLate, message}, true
	case v1.ReasonReplacementBlocked:
		return Transition{corev1.EventTypeWarning, v1.EventReplacementBlocked, message}, true
	case v1.ReasonNotInPlace:
		return Transition{corev1.EventTypeWarning, v1.EventNotInPlace, message}, true
	default:
		return Transition{}, false
	}
}

// haltOf returns what a halt means for the pods.
func haltOf(manager *v1.PodManager, status *v1.PodManagerStatus) string {
	if areAllUpdated(manager, status) {
		return "The new revision fails"
	}
	return "No further pod is updated"
}

// isDeadlineExceeded reports whether a rollout has used up progressDeadlineSeconds. It reads the record instead of the condition Stalled, which
// comes and goes while the controller acts on pods, so that the event is emitted only once.
func isDeadlineExceeded(manager *v1.PodManager, status *v1.PodManagerStatus) bool {
	rollout := status.Rollout
	return rollout != nil && rollout.Since == nil && int(rollout.SpentSeconds) >= int(manager.ProgressDeadline()/time.Second)
}

// isCompleted reports whether a rollout has just completed: all pods are updated and available, or the revision has become the current one. The first
// rollout of a new object needs no event. Neither does a return to the revision that is still the current one.
func isCompleted(manager *v1.PodManager, old, status *v1.PodManagerStatus) bool {
	isDone := func(s *v1.PodManagerStatus) bool { return areAllAvailable(s) || s.CurrentRevision == s.UpdateRevision }
	if old.CurrentRevision == "" && manager.Generation == 1 {
		return false
	}
	return old.UpdateRevision == status.UpdateRevision && isDone(status) && !isDone(old) && old.Rollout != nil
}

// areAllAvailable reports whether all pods are updated and available.
func areAllAvailable(s *v1.PodManagerStatus) bool {
	reason := reasonOf(s, v1.ConditionReady)
	return reason == v1.ReasonAllAvailable || reason == v1.ReasonBaking
}

// ReadyReason returns the reason of Ready, which is the best one-word summary of the status. It is empty if there is none yet.
func ReadyReason(status *v1.PodManagerStatus) string { return reasonOf(status, v1.ConditionReady) }

func reasonOf(status *v1.PodManagerStatus, kind string) string {
	if found := meta.FindStatusCondition(status.Conditions, kind); found != nil {
		return found.Reason
	}
	return ""
}

func messageOf(status *v1.PodManagerStatus, kind string) string {
	if found := meta.FindStatusCondition(status.Conditions, kind); found != nil {
		return cmp.Or(found.Message, found.Reason)
	}
	return ""
}
