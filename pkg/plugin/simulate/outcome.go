package simulate

import (
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plugin/follow"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// Outcome is how a simulation ends.
type Outcome string

// The outcomes.
const (
	Completed  Outcome = "Completed"
	Halted     Outcome = "Halted"
	RolledBack Outcome = "RolledBack"
	// Partitioned means that the rollout ends at the partition, Held that it is paused.
	Partitioned Outcome = "PartitionReached"
	Held        Outcome = "Paused"
	OnDelete    Outcome = "UpdateOnDelete"
	Deadline    Outcome = "ProgressDeadlineExceeded"
	NotInPlace  Outcome = "InPlaceImpossible"
	// SurgeBlocked means that the rollout waits for a surge pod that no node or quota has room for.
	SurgeBlocked Outcome = "SurgeBlocked"
	// DrainBlocked means that nothing else is left to do, but the drain does not end.
	DrainBlocked Outcome = "DrainBlocked"
	// PodsRefused means that the API server refuses the pods.
	PodsRefused Outcome = "Refused"
	// Waiting means that pods do not become available although no rollout is in progress that could fail.
	Waiting Outcome = "Waiting"
)

// outcomeOf returns the outcome for a PodManager at rest, with the message of its Ready or Stalled condition. refusal is how the API server has
// refused a pod, or empty.
func outcomeOf(manager *v1.PodManager, o Options, refusal string) (Outcome, string) {
	outcome, message := outcomeAtRest(manager, o)
	isFinal, waits := outcome == Completed || outcome == RolledBack, outcome == Waiting || outcome == Deadline
	switch quota := o.Room.Refusal; {
	case refusal == "":
		return outcome, message
	case o.Room.Rejection != nil && !isFinal:
		return PodsRefused, refusal
	case quota != nil && waits && follow.Reason(manager) == v1.ReasonForbidden:
		return PodsRefused, "quota " + quota.Quota() + " has no room: " + refusal
	default:
		return outcome, message
	}
}

// outcomeAtRest returns the outcome as far as the conditions show it.
func outcomeAtRest(manager *v1.PodManager, o Options) (Outcome, string) {
	message := follow.Message(manager)
	if o.waitsForRoom(manager) {
		return SurgeBlocked, message
	}
	stalled := meta.FindStatusCondition(manager.Status.Conditions, v1.ConditionStalled)
	reason := follow.Reason(manager)
	if stalled != nil {
		reason, message = stalled.Reason, stalled.Message
	}
	switch outcomes := map[string]Outcome{
		v1.ReasonHalted: Halted, v1.ReasonRolledBack: RolledBack, v1.ReasonDeadline: Deadline, v1.ReasonNotInPlace: NotInPlace,
		v1.ReasonPaused: Held, v1.ReasonPartition: Partitioned, v1.ReasonUpdateOnDelete: OnDelete,
	}; {
	case outcomes[reason] != "":
		return outcomes[reason], message
	case follow.OutcomeFor(manager) == follow.Done:
		return Completed, message
	default:
		return Waiting, message
	}
}

// sentence returns the meaning of an outcome, and its colour.
func (o Outcome) sentence() (string, text.Colour) {
	switch o {
	case Completed:
		return "completed", text.Good
	case Halted:
		return "halted until a user acts", text.Bad
	case RolledBack:
		return "rolled back", text.Bad
	case Partitioned:
		return "held at the partition", text.Notable
	case Held:
		return "held by the pause", text.Notable
	case OnDelete:
		return "waits for pods to be deleted (OnDelete)", text.Notable
	case Deadline:
		return "stalled: progressDeadlineSeconds exceeded", text.Bad
	case NotInPlace:
		return "impossible: pods may only be updated in place", text.Bad
	case SurgeBlocked:
		return "blocked: there is no room for a surge pod", text.Bad
	case DrainBlocked:
		return "the drain does not end", text.Bad
	case PodsRefused:
		return "refused", text.Bad
	default:
		return "waits for pods that do not become available", text.Bad
	}
}

// separator is what stands between the sentence and the message.
func (o Outcome) separator() string {
	if o == PodsRefused {
		return ": "
	}
	return "; "
}
