package follow

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// Outcome is the state of a rollout.
type Outcome int

// The outcomes.
const (
	UnderWay Outcome = iota
	// Baking means that all pods are updated and available, while the failure policy still watches the new revision.
	Baking
	Done
	Failed
	Held
	Deleted
)

// Exit codes of status, and of get --until-ready.
const (
	ExitDone    = 0
	ExitError   = 1
	ExitFailed  = 3
	ExitHeld    = 4
	ExitTimeout = 124
)

// OutcomeFor returns the state of a PodManager's rollout.
func OutcomeFor(manager *v1.PodManager) Outcome {
	if manager.DeletionTimestamp != nil {
		return Deleted
	}
	if manager.Status.ObservedGeneration != manager.Generation {
		return UnderWay
	}
	ready := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionReady)
	switch {
	case ready == nil:
		return UnderWay
	case meta.IsStatusConditionTrue(manager.Status.Conditions, v1.ConditionStalled), ready.Reason == v1.ReasonRolledBack:
		return Failed
	case ready.Reason == v1.ReasonPaused, ready.Reason == v1.ReasonPartition, ready.Reason == v1.ReasonUpdateOnDelete:
		return Held
	case ready.Status == metav1.ConditionTrue && ready.Reason == v1.ReasonBaking:
		return Baking
	case ready.Status == metav1.ConditionTrue:
		return Done
	default:
		return UnderWay
	}
}

// ExitCode returns the exit code for an outcome that ends the command.
func (o Outcome) ExitCode(heldIsFine bool) int {
	switch o {
	case Done, Baking:
		return ExitDone
	case Failed:
		return ExitFailed
	case Held:
		if heldIsFine {
			return ExitDone
		}
		return ExitHeld
	default:
		return ExitError
	}
}

// Reason returns the state of a PodManager in one word: the reason of Ready.
func Reason(manager *v1.PodManager) string {
	ready := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionReady)
	switch {
	case manager.DeletionTimestamp != nil:
		return v1.ReasonTerminating
	case manager.Status.ObservedGeneration != manager.Generation || ready == nil:
		return "Unobserved"
	default:
		return ready.Reason
	}
}

// Message returns the state of a PodManager in words: the message of Ready, or that the controller has not seen the last change.
func Message(manager *v1.PodManager) string {
	ready := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionReady)
	switch {
	case manager.Status.ObservedGeneration < 1:
		return "no controller has reported on it yet"
	case manager.Status.ObservedGeneration != manager.Generation:
		return fmt.Sprintf("the controller has not seen generation %d yet", manager.Generation)
	case ready == nil:
		return ""
	default:
		return ready.Message
	}
}

// Line returns the state of a PodManager in one line: its name, the reason and the message of Ready, and the numbers of pods.
func Line(manager *v1.PodManager) string {
	status := &manager.Status
	line := fmt.Sprintf("%s: %s", manager.Name, Reason(manager))
	if status.ObservedGeneration >= 1 {
		line += fmt.Sprintf(" (%d wanted, %d updated, %d available)", manager.DesiredReplicas(), status.UpdatedReplicas, status.AvailableReplicas)
	}
	if message := Message(manager); message != "" {
		line += ": " + message
	}
	return text.Clean(line)
}
