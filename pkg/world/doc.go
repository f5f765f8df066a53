// Package world simulates a cluster with one PodManager, in as much detail as the planner sees: an API server that may fail, kubelets, and users.
// The same seed leads to the same course of events on every machine.
//
//	world.go     the cluster with its past, and what the controller does to it: Observe, Apply, Report, and Sync, which does all three
//	requests.go  creating, deleting and updating pods, unless the API server fails; patch.go applies patches like the API server, and room.go limits
//	             how many pods there is room for
//	time.go      how time passes, in trouble and in calm; mishap.go has what goes wrong meanwhile, leaving.go nodes that are drained and lost
//	truth.go     the truth, independent of the planner: which pods are available, and which kubelets are behind
//	blame.go     which pods have failed on their own, and since when
//	course.go    a world without randomness that continues from existing objects, for kubectl pm simulate; describe.go formats it
//	nodes, users, dice   the scheduler and the kubelets; random specs and edits; random decisions
//
// The promises of the planner are listed in properties_test.go; manual_test.go says which of them judge which sentence of the manual. The tests run a
// fixed set of scenarios. PLAN_TIME=10m go test . -run TestProperties -v runs others for that long; a failure prints its seed, and PLAN_SEED=<seed>
// runs the scenario again and prints each step.
//
// The world uses only exported parts of pkg/plan, and determines on its own what it has to know about a pod, so that it can prove the planner
// wrong. Nothing here may import testing, because kubectl pm simulate uses this package.
package world
