// Chaos runs our controller, and beside it the ReplicaSet controller of Kubernetes, under faults, and tells which of
// the invariants I1 to I7 held:
//
//	I1  there are never more active pods than users have asked for of late (and, in an update, the surge)
//	I2  once everything has settled, no pod without an owner and no finalizer is left
//	I3  the controller converges once the faults stop, and then writes nothing
//	I4  the controller never touches a pod of somebody else
//	I5  the status is true
//	I6  the controller never makes more available pods unavailable at a time than maxUnavailable allows
//	I7  of replicas that share the work, only the one that holds the Lease of a PodManager's shard writes to its objects
//
// The oracle of hack/test/harness/faults checks the invariants at every version of every object, and settle.go at the end of each run. A
// scenario is a function; scenarios of one kind are in one file scenario_*.go.
//
//	main.go, campaign.go  what runs, in which order, for how long; report.go the table
//	scenarios.go, run.go  the list of scenarios; one scenario with one controller, which is one of contender.go
//	arena.go, user.go     the parts of a run: a namespace, a proxy, an oracle, a controller; the requests of a user
//	churn.go              users who create, scale, edit, relabel and delete at random
//	settle.go             whether everything is as wanted in the end
//	crew.go, takeover.go  replicas that share the work; how soon they take over from each other
//	successor.go          a second controller that waits for the Lease
//	pulse.go, starve.go   how slow the machine is at the moment; making it slow
//	hunt.go               broken controllers that the scenarios have to catch
//
//	tenure                who held which shard when, and who wrote what: judges I7
//	fields                values for all fields of a spec, and what must come of each, for scenario_fields.go
//	mutants               the broken controllers, as patches
//
// These packages know nothing of arenas and scenarios, and do not import each other.
package main
