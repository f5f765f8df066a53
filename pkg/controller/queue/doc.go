// Package queue decides when a PodManager is synced. Everything that puts a key into the workqueue goes through its Agenda.
//
// Start with agenda.go. trigger.go names what makes a key be looked at, priority.go puts users before pods and pods before the backlog.
//
// Which events matter is decided by the handlers in pkg/controller, when to look again by pkg/plan.
package queue
