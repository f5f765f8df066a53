// Package report tells what was done and how things are: in the status of a PodManager and in events.
//
// Start with report.go. status.go writes statuses, a few at a time and without ever losing to a writer that is faster. events.go turns the
// outcome of a plan into events, recorder.go writes them to the last one.
//
// What the status says is decided in pkg/plan/status.
package report
