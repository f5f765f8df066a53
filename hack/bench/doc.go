// Bench compares PodManager with ReplicaSet and Deployment, and with the maximum that the API server can do. All of them run on the same cluster in
// the same run, one at a time and in turns, so that other load on the machine affects all of them alike. The report compares medians. `go run
// ./hack/bench -help` lists the flags.
//
// This package has only the program: what is measured, and how, is in workloads.
//
//	main.go      flags
//	campaign.go  the run: workloads in turn, and a report after each; progress.go reports how far it is
//	machine.go   the machine that it runs on
//	workloads/   the workloads, the contenders, and the cluster that they run on
//	census/      a watch that counts pods and owners by state, and reports the time at which a count is reached
//	figures/     the measurements: results, goals and the report
//	paper/       a cluster that is only computed
package main
