// Package follow reports how far a rollout has progressed: in one line, and as an exit code for scripts.
//
// Start with outcome.go. refusal.go says what has failed, which is the rollout itself or a request that the API server refuses, and which verb to run
// next. deletion.go says what keeps a PodManager that is being deleted. Everything is derived from the PodManager and its conditions, which only the
// controller sets.
package follow
