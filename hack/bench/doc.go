// Bench measures PodManager beside ReplicaSet and Deployment, and beside what the API server can do at the most. All of
// them run on the same cluster in the same run, one at a time and in turns, so that what the machine does besides hurts all
// alike; medians are what counts. `go run ./hack/bench -help` tells the flags.
//
//	main.go        flags
//	campaign.go    the run: workloads in turn, and a report after each; progress.go tells how far it is
//	bench.go       what workloads run on: the cluster and the contenders on it
//	step.go        one contender at one workload: a fresh process, what it took, and cleaning up
//	contender*.go  the contenders
//	workload*.go   the workloads; sizes.go how large they are
//	objects.go     the pods and owners that are made; clients.go who makes them, many at a time
//	replicas.go    several replicas of our controller, which share the work
//	requests.go    how many requests of which kind, from the audit log
//	counters.go    our controller's metrics
//	machine.go     what it runs on
//	census/        a watch that counts pods and owners by state, and tells the time at which a count is reached
//	figures/       what was measured: results, goals and the report
//	paper/         a cluster that is only computed
package main
