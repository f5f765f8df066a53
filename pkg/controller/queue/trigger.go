package queue

import (
	"iter"
	"maps"
)

// Trigger is a reason for which a PodManager is synced. It appears in logs and metrics.
type Trigger string

const (
	TriggerUnfinished     Trigger = "unfinished"
	TriggerStart          Trigger = "start"
	TriggerManagerAdded   Trigger = "managerAdded"
	TriggerManagerChanged Trigger = "managerChanged"
	TriggerManagerDeleted Trigger = "managerDeleted"
	TriggerMetadata       Trigger = "metadataChanged"
	TriggerStatusChanged  Trigger = "statusChanged"
	TriggerResync         Trigger = "resync"
	TriggerPodAdded       Trigger = "podAdded"
	TriggerPodChanged     Trigger = "podChanged"
	TriggerPodDeleted     Trigger = "podDeleted"
	TriggerPodOrphaned    Trigger = "podOrphaned"
	TriggerRevision       Trigger = "revisionChanged"
	TriggerNode           Trigger = "nodeChanged"
	triggerTime           Trigger = "time"
)

var triggerPriority = map[Trigger]priority{
	TriggerManagerAdded: byUser, TriggerManagerChanged: byUser, TriggerManagerDeleted: byUser,
	TriggerUnfinished: byEvent, TriggerMetadata: byEvent, TriggerPodAdded: byEvent, TriggerPodChanged: byEvent, TriggerPodDeleted: byEvent, TriggerPodOrphaned: byEvent,
	TriggerRevision: byEvent, TriggerNode: byEvent, triggerTime: byEvent,
	TriggerStart: byBacklog, TriggerResync: byBacklog, TriggerStatusChanged: byBacklog,
}

// Triggers returns all triggers.
func Triggers() iter.Seq[Trigger] { return maps.Keys(triggerPriority) }
