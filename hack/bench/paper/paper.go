package paper

import (
	"fmt"
	"slices"

	"github.com/mycompany/podmanager/pkg/shard"
)

// The cluster that is computed, because no machine of ours could run it.
const (
	Pods       = 500_000           // pods of all PodManagers
	PerManager = 10                // pods of each PodManager
	Managers   = Pods / PerManager // number of PodManagers
	Shards     = 64                // number of shards that the replicas divide among them
	// revisionsEach is how many revisions a PodManager has on average.
	revisionsEach = 2
	// eventsEach is how many watch events a pod causes while it is replaced: created, scheduled, started, ready, terminating, gone.
	eventsEach = 6
	// statusesEach is how many status writes each replaced pod causes: 1.1 for a PodManager with one pod, fewer for one with ten.
	statusesEach = 1.1
	// leaseSeconds is the interval at which a Lease is renewed, which is twice that of a single leader's Lease.
	leaseSeconds = 2
	// checkSeconds is the interval at which each replica checks pods, revisions and PodManagers to detect that the API server has gone back in time.
	checkSeconds = 15
	// emptyBytes is the memory of a replica without pods, as measured by the workload shards.
	emptyBytes = 50 << 20
	// CreatesPerSecond is how many creates from bare requests an API server handled on two cores: 1000 x 1 in hack/README.md. A larger API server
	// handles more.
	CreatesPerSecond = 244
)

// Costs has the unit costs, as measured in this process. Sizes are in bytes, times in seconds.
type Costs struct {
	// Pod, Manager and Revision are the sizes of one object in the caches. Wire is the size of an encoded pod.
	Pod, Manager, Revision, Wire float64
	// PodDecode and ManagerDecode are for one event. Plan and Status are for one sync of ten pods.
	PodDecode, ManagerDecode, Plan, Status float64
	// Match is what the selector of one shard costs the API server for one event. StrayMatch is the cost of the selector for objects without a
	// shard.
	Match, StrayMatch float64
}

// Row has the results for one number of replicas.
type Row struct {
	Replicas int
	// Pods is the number of pods of the largest replica.
	Pods int
	// Memory is what its caches and the process need. Undivided is the part that every replica has completely: the PodManagers.
	Memory, Undivided float64
	// Fill is how many bytes it reads to fill its caches.
	Fill float64
	// CPU is the share of a core that it needs while all pods of the cluster are replaced as fast as the API server can handle.
	CPU float64
	// Requests is the number of requests per second of all replicas at rest: renewals of Leases, and checks whether the API server has gone back in
	// time. Watches is the number of watches of all replicas. Filter is the share of a core that the API server needs to find out which watches
	// receive which event.
	Requests, Watches, Filter float64
}

// Rows computes one row for each of these numbers of replicas.
func Rows(c Costs, replicas ...int) []Row {
	perShard := make([]int, Shards)
	for i := range Managers {
		perShard[shard.Of(fmt.Sprint("team-", i%50), fmt.Sprint("web-", i), Shards).Index] += PerManager
	}
	slices.Sort(perShard)
	slices.Reverse(perShard)
	var rows []Row
	for _, count := range replicas {
		row := Row{Replicas: count}
		for _, pods := range perShard[:(Shards+count-1)/count] { // the worst case: one replica has all the large ones
			row.Pods += pods
		}
		pods, part := float64(row.Pods), float64(row.Pods)/Pods
		row.Undivided = Managers * c.Manager
		row.Memory = emptyBytes + row.Undivided + pods*c.Pod + part*Managers*revisionsEach*c.Revision
		row.Fill = pods*c.Wire + row.Undivided
		events := float64(CreatesPerSecond * eventsEach)
		row.CPU = part*events*(c.PodDecode+c.Plan+c.Status) + CreatesPerSecond*statusesEach*c.ManagerDecode
		// Each replica sends three requests for the group's Lease: a write that conflicts with one of another replica, a read, and a write.
		renewals := (Shards + 3*float64(count)) / leaseSeconds
		row.Requests = renewals + float64(3*count)/checkSeconds
		row.Watches = float64(2*Shards + 4*count) // for each shard pods and revisions; for each replica those without a shard, PodManagers and Leases
		row.Filter = events * (Shards*c.Match + float64(count)*c.StrayMatch)
		rows = append(rows, row)
	}
	return rows
}
