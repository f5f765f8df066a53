package status

import (
	"time"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Result is the outcome of a rollout, as in the label of the metrics.
type Result string

const (
	// Completed: the revision is proven, and rollbacks return to it from now on. The bake time is part of the rollout, because the failure policy may
	// still roll back the revision.
	Completed Result = "completed"
	// Halted and Deadline: the rollout is Stalled, and a user has to act.
	Halted   Result = "halted"
	Deadline Result = "deadline"
	// RolledBack: the revision has failed for any reason, and all pods return to the old one.
	RolledBack Result = "rolled_back"
	// Superseded: the template was changed again before any of these.
	Superseded Result = "superseded"
)

// Results has all results.
var Results = []Result{Completed, Halted, RolledBack, Deadline, Superseded}

// End is the end of a rollout.
type End struct {
	Revision string // the revision that was rolled out
	Result   Result
	Started  time.Time
}

// EndBetween compares the old with the new status. If the rollout that was in progress in old has ended in status, it returns that end, else nil. The
// status records what was counted: a rollout that has halted or missed its deadline is not counted again, however it continues. The deletion of an
// object does not end a rollout.
func EndBetween(manager *v1.PodManager, old, status *v1.PodManagerStatus) *End {
	record := old.Rollout
	if record == nil || record.StartedAt == nil || record.CountedAs != "" || manager.DeletionTimestamp != nil {
		return nil
	}
	end := &End{Revision: record.Revision, Started: record.StartedAt.Time}
	switch {
	case status.UpdateRevision != record.Revision:
		end.Result = Superseded
	case status.FailedRevision == record.Revision:
		end.Result = RolledBack
	case status.CurrentRevision == record.Revision:
		end.Result = Completed
	case status.Rollout != nil && status.Rollout.CountedAs != "":
		end.Result = Result(status.Rollout.CountedAs)
	default:
		return nil
	}
	return end
}

// recordStalledResult records in a new status that a rollout is Stalled and counts as ended from now on. A paused rollout has not ended, whatever its other
// state.
func recordStalledResult(manager *v1.PodManager, status *v1.PodManagerStatus, deadlineExceeded bool) {
	record := status.Rollout
	if record == nil || record.StartedAt == nil || record.CountedAs != "" || manager.Spec.Paused {
		return
	}
	switch {
	case reasonOf(status, v1.ConditionStalled) == v1.ReasonHalted:
		record.CountedAs = string(Halted)
	case deadlineExceeded:
		record.CountedAs = string(Deadline)
	}
}
