// Package queue hands the keys of PodManagers to the workers in order of urgency. Event handlers and syncs add keys through its Scheduler, which
// records why and when each key is to be synced.
//
// Start with scheduler.go, which also sets the backoff of a key whose sync has failed. trigger.go names the reasons for which a key is queued.
// priority.go puts changes by users before changes of pods, and both before the backlog: keys that were queued at a start or by a resync, although
// nothing is known to have changed.
//
// workers.go divides the workers among namespaces.
//
// The handlers in pkg/controller decide which events enqueue a key; pkg/plan decides when to requeue it.
package queue
