// Package queue hands the keys of PodManagers to the workers, in the order of their urgency. Handlers, and syncs that want to be run again,
// put keys into it through its Agenda, which keeps the reasons and the time of each key.
//
// Start with agenda.go. trigger.go names the reasons for which a key is queued. priority.go puts changes by users before changes of pods,
// and both before the backlog: keys that a start or a resync has queued although nothing is known to have changed.
//
// workers.go divides the workers among namespaces.
//
// The handlers in pkg/controller decide which events enqueue a key; pkg/plan decides when to requeue it.
package queue
