// Package census watches a cluster, and counts its pods and their owners by state. It reports the time at which a count is reached, and the lowest
// and the highest count in between. All contenders of the bench are timed by it.
//
// It only reads. Everything that changes the cluster belongs to hack/bench/workloads, and the evaluation of the times to hack/bench/figures.
//
// Start with all.go.
//
//	all.go         everything that is watched
//	census.go      the watch of one kind, for any type of state
//	states.go      the states of pods and owners
//	conditions.go  what can be waited for and counted
package census
