// Chaos covers what hack/sim cannot simulate: real processes, connections, certificates, and the rest of a real control plane. It runs our
// controller, and next to it the ReplicaSet controller of Kubernetes, under faults, and reports which of the invariants I1 to I7 held:
//
//	I1  there are never more active pods than users have recently requested (and, in an update, the surge)
//	I2  once everything has settled, no pod without an owner and no finalizer is left
//	I3  the controller converges once the faults stop, and then writes nothing
//	I4  the controller never touches a pod that is not its own
//	I5  the status is correct
//	I6  of replicas that share the work, only the one that holds the Lease of a PodManager's shard writes to its objects
//	I7  while a node is drained, as many pods serve as the PodDisruptionBudget requires
//
// The oracle of hack/test/harness/faults checks the invariants at every version of every object, and testenv checks them at the end of each run.
//
// This package is the program. It decides what runs, in which order and for how long, and reports the results. It knows a scenario only by its
// entry in the list.
//
//	main.go, campaign.go  the flags, and the runs of a campaign; report.go the table
//	hunt.go, simulate.go  broken controllers that the scenarios, or the simulation, have to catch
//	starve.go             a slow machine
//
//	scenarios             everything that is done to the controllers; All is the list
//	testenv               the parts of a scenario: a run in a namespace, its user, its controller, and its checks
//
//	leasehistory          which replica held which shard when, and which replica wrote what: checks I6
//	fields                values for all fields of a spec, and the expected result of each
//	mutants               the broken controllers, as patches
//
// The program imports scenarios, which imports testenv. The last three packages import neither these nor each other.
package main
