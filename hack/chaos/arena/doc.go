// Package arena is where a controller meets the faults of a scenario, and where the run is judged in the end.
//
// Start with arena.go: an Arena is a namespace with a proxy, an oracle and a controller. A scenario is a function that gets one: it acts as
// the user, lets faults happen, calls Settle and Judge, and the pods must be as it has asked.
//
//	scenario.go, run.go  what a scenario says about itself; one scenario with one controller and one seed, and its result
//	contender.go         the controllers: ours, and that of ReplicaSets
//	user.go              the requests of a user, and what is wanted because of them
//	churn.go             users who create, scale, edit, relabel and delete at random
//	settle.go            whether everything is as wanted in the end, and the controller quiet
//	pulse.go             how slow the machine is at the moment, which all limits allow for
//
// This package knows no scenario; what only scenarios of one kind need is beside them.
package arena
