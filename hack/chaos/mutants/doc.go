// Package mutants has broken controllers, each as a patch of the sound one, and builds them. A scenario of chaos is worth its time only if it
// catches at least one of them: a judge that allows too much catches none.
//
// The head of each patch says what is broken, and which scenarios have to catch it:
//
//	# What the controller does wrong, in a sentence.
//	# Scenarios: names, separated by commas; name:I1 if it has to be caught by this invariant
//
// To write one, change the controller, run git diff -- pkg >hack/chaos/mutants/NAME.patch, put the head above it, and undo the change. Hunks
// are found by their lines, not by their numbers.
//
// This package knows nothing of clusters and scenarios; hunt.go of hack/chaos plays them.
package mutants
