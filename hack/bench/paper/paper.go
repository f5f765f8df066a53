package paper

import (
	"fmt"
	"slices"

	"github.com/mycompany/podmanager/pkg/shard"
)

// The cluster that is computed on paper, since no machine of ours could run it.
const (
	Pods       = 500_000           // of all PodManagers
	PerManager = 10                // pods of each PodManager
	Managers   = Pods / PerManager // how many PodManagers there are
	Shards     = 64                // what the replicas divide among themselves
	// revisionsEach is how many revisions a PodManager has on average.
	revisionsEach = 2
	// eventsEach is how often a watch tells of a pod while it is replaced: created, scheduled, started, ready, terminating, gone.
	eventsEach = 6
	// statusesEach is how many statuses are written for each pod that is replaced: 1.1 for a PodManager of one pod, fewer of ten.
	statusesEach = 1.1
	// leaseSeconds is how often a Lease is renewed: half as often as that of a single leader.
	leaseSeconds = 2
	// checkSeconds is how often each replica checks whether the API server has gone back in time: pods, revisions and PodManagers.
	checkSeconds = 15
	// emptyBytes is a replica without pods, as the workload shards measures it.
	emptyBytes = 50 << 20
	// CreatesPerSecond is what an API server took on two cores from bare requests: 1000 x 1 in hack/README.md. A better one takes more.
	CreatesPerSecond = 244
)

// Costs are what single things cost, as measured in this process. Sizes are bytes, times seconds.
type Costs struct {
	// Pod, Manager and Revision are in the caches; Wire is a pod on its way there.
	Pod, Manager, Revision, Wire float64
	// PodDecode and ManagerDecode are of one event; Plan and Status of one sync of ten pods.
	PodDecode, ManagerDecode, Plan, Status float64
	// Match is what the selector of one shard costs the API server for one event; StrayMatch that of what is in no shard.
	Match, StrayMatch float64
}

// Row is what a number of replicas means.
type Row struct {
	Replicas int
	// Pods is how many the replica with the most has.
	Pods int
	// Memory is what its caches and the process need, and Undivided the part that every replica has whole: PodManagers.
	Memory, Undivided float64
	// Fill is how many bytes it reads to fill its caches.
	Fill float64
	// CPU is the share of a core that it needs while all pods of the cluster are replaced as fast as the API server takes that.
	CPU float64
	// Requests are those of all at rest, a second: renewals of Leases, and checks whether the API server has gone back in time. Watches
	// are those of all. Filter is the share of a core that the API server needs to find out who is told of which event.
	Requests, Watches, Filter float64
}

// Rows computes what several numbers of replicas mean, a row for each.
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
		for _, pods := range perShard[:(Shards+count-1)/count] { // the worst case: one has all the large ones
			row.Pods += pods
		}
		pods, part := float64(row.Pods), float64(row.Pods)/Pods
		row.Undivided = Managers * c.Manager
		row.Memory = emptyBytes + row.Undivided + pods*c.Pod + part*Managers*revisionsEach*c.Revision
		row.Fill = pods*c.Wire + row.Undivided
		events := float64(CreatesPerSecond * eventsEach)
		row.CPU = part*events*(c.PodDecode+c.Plan+c.Status) + CreatesPerSecond*statusesEach*c.ManagerDecode
		renewals := (Shards + 3*float64(count)) / leaseSeconds // a replica finds the group's Lease changed by another one, reads and writes it
		row.Requests = renewals + float64(3*count)/checkSeconds
		row.Watches = float64(2*Shards + 4*count) // pods and revisions of a shard; strays of both, PodManagers, Leases
		row.Filter = events * (Shards*c.Match + float64(count)*c.StrayMatch)
		rows = append(rows, row)
	}
	return rows
}
