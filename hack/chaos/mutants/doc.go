// Package mutants has broken controllers, each as a patch of the sound one, and builds them. A judge is worth its time only if it catches at
// least one of them: a judge that allows too much catches none.
//
// The head of each patch says what is broken, and what has to catch it:
//
//	# What the controller does wrong, in a sentence.
//	# Simulation: seed 7, where hack/sim begins to search; a package and its test; or no, and why
//	# Scenarios: names, separated by commas; name:I1 if it has to be caught by this invariant; left out if simulation suffices
//
// To write one, change the controller, run git diff -- pkg >hack/chaos/mutants/NAME.patch, put the head above it, and undo the change. Hunks
// are found by their lines, not by their numbers.
//
// This package knows nothing of clusters and scenarios; simulate.go and hunt.go of hack/chaos play them.
package mutants
