package queue

// Trigger is a reason for which a PodManager is synced.
type Trigger uint

const (
	TriggerUnfinished Trigger = iota
	TriggerStart
	TriggerManagerAdded
	TriggerManagerChanged
	TriggerManagerDeleted
	TriggerStatusChanged
	TriggerResync
	TriggerPodAdded
	TriggerPodChanged
	TriggerPodDeleted
	TriggerPodOrphaned
	TriggerRevision
	triggerTime
	triggerCount
)

// TriggerNames are the names of all triggers in logs and metrics.
var TriggerNames = [triggerCount]string{
	"unfinished", "start", "managerAdded", "managerChanged", "managerDeleted", "statusChanged", "resync",
	"podAdded", "podChanged", "podDeleted", "podOrphaned", "revisionChanged", "time",
}

func (t Trigger) String() string { return TriggerNames[t] }

// MarshalText makes a log in JSON have the name.
func (t Trigger) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// triggerSet has a bit for each trigger.
type triggerSet uint

func (s triggerSet) has(t Trigger) bool { return s&(1<<t) != 0 }
