package follow

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// TriesAgain is what a user has to know about refused pods. The longest backoff of the controller is a minute, and up to a quarter more.
const TriesAgain = "the controller tries again by itself, within about a minute"

// RefusesPods reports whether the API server refuses the pods of a PodManager, for example because of a quota, a missing ServiceAccount or a webhook.
func RefusesPods(manager *v1.PodManager) bool {
	failure := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionReplicaFailure)
	if failure == nil || failure.Status != metav1.ConditionTrue || failure.Reason != v1.ReasonFailedCreate {
		return false // other requests are refused, or none is: an update in place, for example, may be tried again later, or never
	}
	reason := Reason(manager)
	return reason == v1.ReasonForbidden || reason == v1.ReasonInvalidPod
}

// Failure says what is wrong with a PodManager whose outcome is Failed.
func Failure(manager *v1.PodManager) string {
	stalled := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionStalled)
	reason := Reason(manager)
	if stalled != nil && stalled.Status == metav1.ConditionTrue {
		reason = stalled.Reason // Ready may have another one, such as Paused
	}
	switch {
	case RefusesPods(manager):
		return fmt.Sprintf("the API server refuses the pods of %s; %s", manager.Name, TriesAgain)
	case reason == v1.ReasonRolledBack || reason == v1.ReasonHalted || reason == v1.ReasonDeadline:
		return fmt.Sprintf("the rollout of %s has failed", manager.Name)
	default:
		return fmt.Sprintf("%s does not continue until a user acts", manager.Name)
	}
}

// Trouble returns the error for an outcome that ends a command with another exit code than 0, with a hint on what to do next. It is nil for other
// outcomes.
func Trouble(manager *v1.PodManager, outcome Outcome) error {
	hint := text.Hint(manager.Namespace, "why", manager.Name)
	switch outcome {
	case Failed:
		return fmt.Errorf("%s; run '%s' to see why", Failure(manager), hint)
	case Held:
		return fmt.Errorf("the rollout of %s is held; run '%s' to see how to continue", manager.Name, hint)
	case Deleted:
		return errors.New(Deletion(manager, "is being deleted"))
	default:
		return nil
	}
}
