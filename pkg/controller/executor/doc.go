// Package executor carries out a plan. Each request can be repeated, and a lost answer does no harm.
//
// Start with executor.go: Begin makes sure that the plan still fits the live PodManager, Apply carries the plan out in order. pods.go,
// updates.go, revisions.go and finalizer.go make the single requests, parallel.go makes many at a time. outcome.go has the outcome of a
// plan, panic.go turns a panic into an error.
//
// Package plan decides what to do, and package report tells users about it.
package executor
