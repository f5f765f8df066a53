package figures

import "fmt"

// Names of the contenders in results.
const (
	Ours       = "PodManager"           // replaces pods to update them
	InPlace    = "PodManager, in place" // changes the images of its pods
	ReplicaSet = "ReplicaSet"           // the peer, except for updates
	Deployment = "Deployment"           // the peer for updates and on the real node
	NoSurge    = "Deployment, no surge" // with the budget of an update in place
	Limit      = "bare requests"        // no controller: the maximum that the API server handles
)

// The contenders of the spreading, beside ReplicaSet.
const (
	Spread   = "PodManager"                // with the default of -default-spreading
	Unspread = "PodManager, not spreading" // with -default-spreading=none
)

// The contenders of the applies: PodManagers without a controller.
const (
	Untried = "no webhook" // without the webhook
	Trying  = "webhook"    // with the webhook that creates their pods in a dry run
)

// ReplicasName returns the name of the contender with this many replicas.
func ReplicasName(count int) string {
	if count == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", count)
}

// Names of the workloads in results. -only selects from other names, because one workload may produce several results.
const (
	CreateOne     = "create one"              // one owner of many pods
	ScaleDown     = "scale down"              // the same owner, scaled to zero
	CreateTens    = "create tens"             // many owners of ten pods
	CreateSingles = "create singles"          // very many owners of one pod
	Rollout       = "rollout"                 // another image for the pods of one owner
	RealCreate    = "create on the real node" // one owner of pods whose containers run
	RealUpdate    = "update on the real node" // another image for these pods
	Restart       = "restart"                 // a controller starts, and finds many owners and one missing pod
	Idle          = "idle"                    // the controller is idle
	Alone         = "alone"                   // few pods of ours, before there is a crowd
	Crowd         = "crowd"                   // the same, among very many pods of other owners
	FewNodes      = "few nodes"               // one owner that replaces the pods of drained nodes, in a small cluster
	ManyNodes     = "many nodes"              // the same, in a large one
	StandbyBefore = "standby before"          // a standby that has seen some events
	Standby       = "standby"                 // the same, after very many events
)

// Prefixes of workloads that have no peer. The rest of the name is a size or a variant.
const (
	Growth   = "growth " // the cost of a sync in clusters of different sizes
	Planning = "plan "   // benchmarks of the planner
	Applying = "apply "  // how long an apply takes
	Sharing  = "shards " // replicas that share the work; ReplicasName names the contenders
	// Spreading is a workload of its own, with no variants.
	Spreading = "spreading"
)

// SteadyThousand is the benchmark of the planner that has a goal.
const SteadyThousand = Planning + "steady/pods=1000"

// Workloads of replicas that share the work.
const (
	SharedMaking  = Sharing + "throughput" // how fast they create pods together
	SharedNothing = Sharing + "empty"      // their memory before there are pods
	SharedCaches  = Sharing + "caches"     // their memory with pods, and the cost of pod updates
)

// How the work is shared. These constants are here because the report contains them.
const (
	ShardCount = 16 // number of shards
	SharedQPS  = 5  // requests per second that each replica may send
)

// ReplicaCounts has the numbers of replicas that share the work.
var ReplicaCounts = []int{1, 2, 4, 8}
