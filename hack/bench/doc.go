// Bench measures PodManager beside ReplicaSet and Deployment, and beside what the API server can do at the most. All of
// them run on the same cluster in the same run, one at a time and in turns, so that what the machine does besides hurts all
// alike; medians are what counts. `go run ./hack/bench -help` tells the flags.
//
//	main.go        flags
//	bench.go       the run: workloads in turn, and a report after each
//	step.go        one contender at one workload: a fresh process, what it took, and cleaning up
//	contender*.go  the contenders
//	census.go      a watch that counts objects by state, and tells the time at which a count is reached
//	requests.go    how many requests of which kind, from the audit log
//	counters.go    our controller's metrics
//	workload_*.go  the workloads
//	replicas.go    several replicas of our controller, which share the work
//	paper.go       a cluster that is only computed
//	machine.go     what it runs on
//	results.go     samples and medians
//	goals.go       what we want to reach
//	report.go, table*.go, plot.go  the report
package main
