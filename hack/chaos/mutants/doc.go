// Package mutants has broken controllers, each as a patch of the sound one, and builds them. A check is worth its time only if it catches at least
// one of them: a check that is too lenient catches none.
//
// The head of each patch describes what is broken, and what has to catch it:
//
//	# What the controller does wrong, in a sentence.
//	# Simulation: seed 7, where hack/sim begins to search; a package and its test; or no, and why
//	# Scenarios: names, separated by commas; name:I1 if this invariant has to catch it; omitted if simulation suffices
//
// To write one, change the controller, run git diff -- pkg >hack/chaos/mutants/NAME.patch, add the head, and revert the change. Hunks are located
// by their lines, not by their line numbers.
//
// This package knows nothing of clusters and scenarios. simulate.go and hunt.go of hack/chaos run the mutants.
package mutants
