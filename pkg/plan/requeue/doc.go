// Package requeue says when a PodManager is looked at again, and why.
//
// Start with lookagain.go: every decision that depends on time answers with a LookAgain. failure.go tells a refusal, which needs
// somebody to act, from an error that may pass. hold.go makes a refused request wait, gather.go makes events of many pods wait for
// each other.
//
// The queue itself is in pkg/controller/queue.
package requeue
