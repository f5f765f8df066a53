// Package workloads has what the bench measures: the workloads, the contenders that take turns at them, and the cluster that all run on.
//
// It prints no report and knows no flags: the program hands in settings and a report to add to, and chooses what runs when. Times come from
// hack/bench/census, and what becomes of them is up to hack/bench/figures.
//
// Start with workload.go. The workloads themselves:
//
//	create.go    owners of many pods, of ten and of one, from nothing to Ready, and down again
//	applies.go   how long users wait when they apply, without the webhook and with it
//	rollout.go   an update, where nodes are simulated; node.go where containers run
//	crowd.go     few pods of ours among very many of others
//	standby.go   a replica that waits for the Lease
//	restart.go   a start with many pods, and doing nothing afterwards
//	shards.go    several replicas of our controller, which share the work; replicas.go starts them
//	growth.go    what a change costs in a cluster that becomes larger
//	planner.go   the benchmarks of pkg/plan; paper.go what single things cost. Both need no cluster
//
// And what they are made of:
//
//	workload.go    the list of them; sizes.go how large they are
//	bench.go       the cluster, and what there is once it is up
//	step.go        one contender at one workload: a fresh process, what it took, and cleaning up
//	contender*.go  the contenders: ours, the peers, and the limit
//	objects.go     the pods and owners that are made; clients.go who makes them, many at a time
//	requests.go    how many requests of which kind, from the audit log
//	counters.go    our controller's metrics
package workloads
