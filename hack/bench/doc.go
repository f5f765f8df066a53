// Bench measures PodManager beside ReplicaSet and Deployment, and beside what the API server can do at the most. All of
// them run on the same cluster in the same run, one at a time and in turns, so that what the machine does besides hurts all
// alike; medians are what counts. `go run ./hack/bench -help` tells the flags.
//
// Here is only the program: what is measured, and how, is in workloads.
//
//	main.go      flags
//	campaign.go  the run: workloads in turn, and a report after each; progress.go tells how far it is
//	machine.go   what it runs on
//	workloads/   the workloads, the contenders, and the cluster that they run on
//	census/      a watch that counts pods and owners by state, and tells the time at which a count is reached
//	figures/     what was measured: results, goals and the report
//	paper/       a cluster that is only computed
package main
