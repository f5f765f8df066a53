// Package requeue decides when the controller syncs a PodManager again although no event arrives, and why.
//
// A hold is the backoff of requests of one kind that the API server has refused: until it ends, plans leave such requests out.
//
// Start with lookagain.go: every decision that depends on time returns a LookAgain. failure.go distinguishes refused requests, which
// fail until somebody acts, from transient errors. hold.go says how long a hold lasts; pkg/controller/memory keeps the holds. batch.go delays the events of many pods, so that one sync handles them together.
//
// The queue itself is in pkg/controller/queue.
package requeue
