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
//	judge.go     what users were promised, checked at every version; final.go when all is calm again; pace.go and timely.go as time goes by
//	story.go     what happened, in order: what users did, what went wrong, and what the controller asked for and was answered
//
// The tests play a fixed set of seeds. make search TIME=10m plays others for that long, and prints what was violated first with the end of the
// story that led there: SIM_SEED=<seed> go test ./hack/sim -run TestSeed -v plays a course again, and tells all of it.
package sim
