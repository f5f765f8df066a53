// Package sim runs the entire, unmodified controller in a simulated cluster under fake time. Hours of faults take seconds. A busy machine makes a
// run slower, but no time limit is exceeded because of that.
//
//	cluster.go   a cluster: API server, nodes, garbage collector, replicas of the controller; course.go a course of faults and calm
//	apiserver    the API server
//	nodes.go     the scheduler and the kubelets, based on pkg/world; garbage.go the garbage collector
//	outages.go   nodes that are drained and lost
//	replica.go   a process of the controller, which can be started, killed and frozen, and whose clock may be off
//	faults.go    faults between a replica and the API server
//	users.go     users who create, edit, scale, orphan and delete
//	rules.go     admission that refuses, changes or delays writes for a while
//	judge.go     the guarantees: at every version; final.go when all is calm again; pace.go, timely.go about frequency and delays;
//	             holders.go about Leases
//	story.go     what happened, in order: users' actions, faults, and the controller's requests with their answers
//
// The tests play a fixed set of seeds. make search TIME=10m plays other seeds for that long. It prints the first violations and the end of the
// story that led to them. SIM_SEED=<seed> go test ./hack/sim -run TestSeed -v replays a course and prints the whole story.
package sim
