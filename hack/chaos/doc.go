// Chaos runs the controller, and beside it the ReplicaSet controller of Kubernetes, under faults, and tells which of
// the invariants I1 to I6 held:
//
//	I1  there are never more active pods than were wanted of late (and, in an update, the surge)
//	I2  no pod without an owner and no finalizer is left once things have settled
//	I3  it converges once the faults stop, and then writes nothing
//	I4  it never touches a pod that is not its own
//	I5  the status is true
//	I6  it never takes away more available pods at a time than maxUnavailable allows
//
// The invariants are looked after by the oracle of hack/faults, at every version of every object, and by settle.go at
// the end of each run. A scenario is a function; those of one kind are in one file scenario_*.go.
//
//	main.go, campaign.go       what runs, in which order, for how long
//	scenario.go                the list of scenarios
//	arena.go                   what one run has: a namespace, a proxy, an oracle, a controller
//	user.go                    what a user asks for in an arena
//	contender.go               the controllers that are compared
//	churn.go                   people who create, scale, edit, relabel and delete at random
//	settle.go, audit.go        whether all is well in the end
//	report.go                  the table
package main
