// Package executor carries out a plan. It makes each request so that it can be repeated, and so that a lost answer does no harm.
//
// Start with executor.go: Begin makes sure that the plan still is for what is wanted, Apply carries it out in order. pods.go, inplace.go,
// revisions.go and finalizer.go make the single requests, parallel.go many at a time. outcome.go has what came of it, panic.go turns a
// panic into an error.
//
// Nothing here decides what is to be done, or tells people about it.
package executor
