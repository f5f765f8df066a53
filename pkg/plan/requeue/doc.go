// Package requeue decides when, and why, the controller syncs a PodManager again if no event arrives.
//
// A hold is the backoff of requests of one kind that the API server has refused. Until it ends, plans omit such requests.
//
// Start with lookagain.go: every decision that depends on time returns a LookAgain. failure.go distinguishes refused requests, which fail until a
// user acts, from transient errors. hold.go decides how long a hold lasts; pkg/controller/memory keeps the holds. batch.go delays the events of
// many pods, so that one sync handles them together.
//
// The queue itself is in pkg/controller/queue.
package requeue
