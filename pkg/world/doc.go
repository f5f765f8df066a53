// Package world simulates a cluster with one PodManager, in as much detail as the planner sees: an API server that may fail, kubelets,
// and users. The same seed gives the same course of events on every machine.
//
//	world.go     the cluster with its past, and what the controller does to it: Observe, Apply, Report, and Sync, which does all three
//	requests.go  creating, deleting and updating pods, unless the API server fails; patch.go patches, as the API server applies them
//	time.go      how time passes, in trouble and in calm; mishap.go what goes wrong meanwhile
//	truth.go     the truth, whatever the planner thinks: which pods are available, and which kubelets are behind
//	blame.go     which pods have failed by themselves, and since when
//	course.go    a world without chance that goes on from objects that exist, for kubectl podmanager simulate; describe.go words
//
//	nodes        the scheduler and the kubelets
//	users        random specs, and the users who edit them
//	dice         what is decided at random
//
// The promises of the planner are the list in properties_test.go; the checks are beside it. The tests play a fixed set of scenarios.
// PLAN_TIME=10m go test . -run TestProperties -v plays others for that long. A failure prints its seed: PLAN_SEED=<seed> plays the scenario
// again and tells each step.
//
// The world uses only exported parts of pkg/plan, and works out by itself what it has to know about a pod, so that it can prove the
// planner wrong. Nothing here may import testing: the tests of this package check the promises of the planner.
package world
