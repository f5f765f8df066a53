// Package requeue decides when, and why, the controller syncs a PodManager again if no event arrives.
//
// A backoff delays requests of one kind that the API server has refused. Until it ends, plans omit such requests.
//
// Start with requeue.go: every decision that depends on time returns a Requeue. failure.go distinguishes refused requests, which fail until a user
// acts, from transient errors, and shortens the texts of errors. backoff.go decides how long a backoff lasts; pkg/controller/syncstate keeps the
// backoffs. batch.go delays the events of many pods, so that one sync handles them together.
//
// The queue itself is in pkg/controller/queue.
package requeue
