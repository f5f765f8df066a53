// Package report writes the status of a PodManager, and events about it.
//
// Start with report.go. status.go writes statuses, a few at a time, even if another client keeps changing the PodManager. events.go turns the
// outcome of a plan into events. recorder.go writes events, and flushes the last ones when the process ends.
//
// pkg/plan/status decides what the status says.
package report
