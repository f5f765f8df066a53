package figures

import "fmt"

// The contenders, as results have them.
const (
	Ours       = "PodManager"           // which replaces pods, where they are updated
	InPlace    = "PodManager, in place" // which changes the images of its pods
	ReplicaSet = "ReplicaSet"           // the peer, but for updates
	Deployment = "Deployment"           // the peer for updates and on the real node
	NoSurge    = "Deployment, no surge" // with the budget of an update in place
	Limit      = "bare requests"        // no controller: what the API server takes at the most
)

// The contenders of the applies: PodManagers without a controller.
const (
	Untried = "no webhook" // as they are
	Trying  = "webhook"    // with the webhook that tries their pods
)

// ReplicasName is the contender that consists of so many replicas.
func ReplicasName(count int) string {
	if count == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", count)
}

// The workloads, as results have them. What -only chooses from are other names: a run of one of those may give several results.
const (
	CreateOne     = "create one"              // one owner of many pods
	ScaleDown     = "scale down"              // the same owner, then of none
	CreateTens    = "create tens"             // many owners of ten pods
	CreateSingles = "create singles"          // very many owners of one pod
	Rollout       = "rollout"                 // another image for the pods of one owner
	RealCreate    = "create on the real node" // one owner of pods whose containers run
	RealUpdate    = "update on the real node" // another image for them
	Restart       = "restart"                 // a controller starts, and finds many owners and a pod too few
	Idle          = "idle"                    // it is left alone
	Alone         = "alone"                   // few pods of ours, before there is a crowd
	Crowd         = "crowd"                   // the same, among very many of other people
	StandbyBefore = "standby before"          // a standby that has seen some events
	Standby       = "standby"                 // the same, after very many
)

// Prefixes of workloads that have no peer; what follows says with which size, or of what.
const (
	Growth   = "growth " // what a sync costs in clusters of different sizes
	Planning = "plan "   // benchmarks of the planner
	Applying = "apply "  // how long an apply takes
	Sharing  = "shards " // replicas that share the work: the contenders are named by ReplicasName
)

// SteadyThousand is the benchmark of the planner that has a goal.
const SteadyThousand = Planning + "steady/pods=1000"

// What is measured of replicas that share the work.
const (
	SharedMaking  = Sharing + "throughput" // how fast they make pods together
	SharedNothing = Sharing + "empty"      // their memory before there are pods
	SharedCaches  = Sharing + "caches"     // their memory with pods, and what updates of pods cost
)

// How the work is shared. It is here because the report tells it.
const (
	ShardCount = 16 // how many shards there are
	SharedQPS  = 5  // how many requests a second each replica may send
)

// ReplicaCounts are how many replicas share the work.
var ReplicaCounts = []int{1, 2, 4, 8}
