// Package report writes the status of a PodManager, and events about it.
//
// Start with report.go: Report writes a changed status now, or, if plan/status (pace.go) does not allow that yet, requests a sync for later.
// status.go writes it, even if another client keeps changing the PodManager. events.go turns the outcome of a plan into events. The text of a failed
// request's event is the Failure's Message: the API server's error after the prefix that package executor adds, such as "creating pod web-0: ",
// shortened by ErrorText in plan/requeue. A repeated failure is one event, which client-go counts. recorder.go writes events, and flushes the last
// ones when the process ends.
//
// pkg/plan/status decides what the status says.
package report
