// Package census watches a cluster, and counts its pods and their owners by state. It tells the time at which a count is reached, and the
// least and the most that it comes to meanwhile: all contenders of the bench are timed by it.
//
// It only looks. What changes the cluster belongs to hack/bench/workloads, and what becomes of the times to hack/bench/figures.
//
// Start with all.go.
//
//	all.go         everything that is watched
//	census.go      the watch of one kind, whatever its states are
//	states.go      the states of pods and owners
//	conditions.go  what can be waited for, and counted
package census
