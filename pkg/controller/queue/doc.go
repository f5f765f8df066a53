// Package queue decides when a PodManager is synced. Everything that puts a key into the workqueue goes through its Agenda.
//
// Start with agenda.go. trigger.go names the reasons for which a key is queued. priority.go puts changes by users before changes of pods,
// and both before the backlog.
//
// The handlers in pkg/controller decide which events enqueue a key; pkg/plan decides when to requeue it.
package queue
