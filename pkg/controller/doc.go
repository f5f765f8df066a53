// Package controller makes the cluster match the plan from plan.Make. All I/O is here and in the packages below. There is no policy here:
// pkg/plan decides what to do and what to report.
//
// Start with controller.go: New, Run, the workers, and syncHandler, which gathers, decides, applies and reports. handlers.go turns events
// into keys, and nodes.go does so for changes of nodes. gather.go collects the objects for a sync, from the caches or by a live read.
// relabelled.go finds pods that a user relabelled while no controller was running.
//
//	metrics    podmanager_* metrics
//	access     which rights the controller has
//	syncstate  what one sync of a PodManager leaves for the next, and what it waits for
//	queue      why a key is queued, and when it is requeued
//	source     informers: what is watched, and what the caches keep
//	reconcile  what the parts of a sync share
//	executor   carries out a plan
//	report     writes statuses and events
package controller
