// Chaos is about what hack/sim cannot simulate: real processes, connections, certificates, and the rest of a real control plane. It runs our
// controller, and beside it the ReplicaSet controller of Kubernetes, under faults, and says which of the invariants I1 to I6 held:
//
//	I1  there are never more active pods than users have asked for of late (and, in an update, the surge)
//	I2  once everything has settled, no pod without an owner and no finalizer is left
//	I3  the controller converges once the faults stop, and then writes nothing
//	I4  the controller never touches a pod of somebody else
//	I5  the status is true
//	I6  of replicas that share the work, only the one that holds the Lease of a PodManager's shard writes to its objects
//
// The oracle of hack/test/harness/faults checks the invariants at every version of every object, and the arena at the end of each run.
//
// This is the program, which decides what runs, in which order and for how long, and reports what came of it. It knows no scenario but by
// its entry in the list.
//
//	main.go, campaign.go  the flags, and the runs of a campaign; report.go the table
//	hunt.go, simulate.go  broken controllers that the scenarios have to catch, or the simulation
//	starve.go             a slow machine
//
//	scenarios             all that is done to the controllers: All is the list
//	arena                 what scenarios are made of: a run in a namespace, its user, its controller, and what judges it
//
//	tenure                who held which shard when, and who wrote what: judges I6
//	fields                values for all fields of a spec, and what must come of each
//	mutants               the broken controllers, as patches
//
// The program imports scenarios, and scenarios import arena. The last three know nothing of arenas and scenarios, and do not import each
// other.
package main
