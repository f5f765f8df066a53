// Package workloads has what the bench measures: the workloads, the contenders that take turns in them, and the cluster that they run on.
//
// It prints no report and knows no flags: the program passes in settings and a report to add to, and chooses what runs when. Times come from
// hack/bench/census, and hack/bench/figures evaluates them.
//
// Start with workload.go. The workloads themselves:
//
//	create.go    owners of many pods, of ten and of one, from nothing to Ready, and the scale-down
//	spreading.go what it costs to spread pods by default
//	applies.go   how long users wait for an apply, without and with the webhook
//	rollout.go   an update with simulated nodes; node.go has one with running containers
//	crowd.go     few pods of ours among very many pods of other owners
//	nodes.go     the nodes of a large cluster, watched for one PodManager
//	standby.go   a replica that waits for the Lease
//	restart.go   a start with many pods, and idling afterwards
//	shards.go    several replicas of our controller, which share the work; replicas.go starts them
//	growth.go    the cost of a change in a growing cluster
//	planner.go   the benchmarks of pkg/plan; paper.go measures unit costs. Neither needs a cluster
//
// Their building blocks:
//
//	workload.go    the list of workloads; sizes.go has their sizes
//	bench.go       the cluster, and what exists once it is running
//	step.go        one contender in one workload: a new process, its cost, and the cleanup
//	contender*.go  the contenders: ours, the peers, and the limit
//	objects.go     the pods and owners that are created; clients.go has the clients that create them, many at a time
//	requests.go    the number of requests of each kind, from the audit log
//	counters.go    our controller's metrics
package workloads
