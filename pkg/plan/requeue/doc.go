// Package requeue decides when the controller syncs a PodManager again although no event arrives, and why.
//
// Start with lookagain.go: every decision that depends on time returns a LookAgain. failure.go distinguishes refused requests, which
// fail until somebody acts, from transient errors. hold.go is the backoff of refused requests: while a Hold lasts, plans leave the request
// out. batch.go delays the events of many pods, so that one sync handles them together.
//
// The queue itself is in pkg/controller/queue.
package requeue
