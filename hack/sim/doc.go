// Package sim runs the whole controller, as it is, in a simulated cluster under fake time: hours of faults take seconds, and a busy machine
// makes that slower, never wrong.
//
//	cluster.go   a cluster: API server, nodes, garbage collector, replicas of the controller, and a course of trouble and calm
//	apiserver    the API server
//	nodes.go     the scheduler and the kubelets, which are those of pkg/world; garbage.go the garbage collector
//	replica.go   a process of the controller: it is started, killed and frozen
//	faults.go    what goes wrong between a replica and the API server
//	users.go     users who create, edit, scale, orphan and delete
//	rules.go     admission that refuses, changes or delays writes for a while
//	judge.go     what users were promised, checked at every version and when all is calm again
//	story.go     what happened, in order
//
// The tests play a fixed set of seeds. make search TIME=10m plays others for that long, and prints the seeds of violations:
// SIM_SEED=<seed> go test ./hack/sim -run TestSeed -v plays one again, and tells the story.
package sim
