package main

import (
	"fmt"
	"slices"

	"github.com/mycompany/podmanager/pkg/shard"
)

// The cluster that is computed on paper, since no machine of ours could run it.
const (
	paperPods       = 500_000
	paperPerManager = 10
	paperManagers   = paperPods / paperPerManager
	paperShards     = 64
	// paperRevisions is how many revisions a PodManager has on average.
	paperRevisions = 2
	// paperEvents is how often a watch tells of a pod while it is replaced: created, scheduled, started, ready, terminating, gone.
	paperEvents = 6
	// paperStatuses is how many statuses are written for each pod that is replaced: 1.1 for a PodManager of one pod, fewer of ten.
	paperStatuses = 1.1
	// leaseSeconds is how often a Lease is renewed: half as often as that of a single leader.
	leaseSeconds = 2
	// checkSeconds is how often each replica checks whether the API server has gone back in time: pods, revisions and PodManagers.
	checkSeconds = 15
	// emptyBytes is a replica without pods, as the workload shards measures it.
	emptyBytes = 50 * mega
	// createsPerSecond is what an API server took on two cores from bare requests: 1000 x 1 in hack/README.md. A better one takes more.
	createsPerSecond = 244
)

// costs are what single things cost, as measured in this process. Sizes are bytes, times seconds.
type costs struct {
	// Pod, Manager and Revision are in the caches; Wire is a pod on its way there.
	Pod, Manager, Revision, Wire float64
	// PodDecode and ManagerDecode are of one event; Plan and Status of one sync of ten pods.
	PodDecode, ManagerDecode, Plan, Status float64
	// Match is what the selector of one shard costs the API server for one event; StrayMatch that of what is in no shard.
	Match, StrayMatch float64
}

// paperRow is what a number of replicas means.
type paperRow struct {
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

// onPaper computes rows for several numbers of replicas.
func onPaper(c costs, replicas ...int) []paperRow {
	perShard := make([]int, paperShards)
	for i := range paperManagers {
		perShard[shard.Of(fmt.Sprint("team-", i%50), ownerName(i), paperShards).Index] += paperPerManager
	}
	slices.Sort(perShard)
	slices.Reverse(perShard)
	var rows []paperRow
	for _, count := range replicas {
		row := paperRow{Replicas: count}
		for _, pods := range perShard[:(paperShards+count-1)/count] { // the worst case: one has all the large ones
			row.Pods += pods
		}
		pods, part := float64(row.Pods), float64(row.Pods)/paperPods
		row.Undivided = paperManagers * c.Manager
		row.Memory = emptyBytes + row.Undivided + pods*c.Pod + part*paperManagers*paperRevisions*c.Revision
		row.Fill = pods*c.Wire + row.Undivided
		events := float64(createsPerSecond * paperEvents)
		row.CPU = part*events*(c.PodDecode+c.Plan+c.Status) + createsPerSecond*paperStatuses*c.ManagerDecode
		renewals := (paperShards + 3*float64(count)) / leaseSeconds // a replica reads and writes the group's Lease, and writes its own
		row.Requests = renewals + float64(3*count)/checkSeconds
		row.Watches = float64(2*paperShards + 4*count) // pods and revisions of a shard; strays of both, PodManagers, Leases
		row.Filter = events * (paperShards*c.Match + float64(count)*c.StrayMatch)
		rows = append(rows, row)
	}
	return rows
}

// paperTable is the result for people.
func (r *report) paperTable() table {
	if r.Paper == nil {
		return table{}
	}
	c := *r.Paper
	t := table{title: fmt.Sprintf("On paper: %d pods of %d PodManagers, %d shards", paperPods, paperManagers, paperShards), columns: []string{
		"replicas", "pods at most", "memory MB", "of which PodManagers MB", "read at the start MB", "CPU", "requests at rest /s", "watches", "API server",
	}, note: fmt.Sprintf("Computed from what single things cost here: a pod in the cache %.1f KB, a PodManager %.1f KB, a revision %.1f KB; a pod decoded %.0f us, planned for %.0f us, "+
		"reported %.0f us; a selector %.2f us, that of strays %.2f us. CPU is the share of a core that a replica needs while all pods are replaced at %d pods a second, which is %.0f minutes; the last is what the API server needs to choose "+
		"who is told of which event. "+
		"A Go process may take up to twice the memory while it is busy.",
		c.Pod/1024, c.Manager/1024, c.Revision/1024, 1e6*c.PodDecode, 1e6*c.Plan, 1e6*c.Status, 1e6*c.Match, 1e6*c.StrayMatch, createsPerSecond, float64(paperPods)/createsPerSecond/60)}
	for _, row := range onPaper(c, 1, 4, 8, 16, 64) {
		t.rows = append(t.rows, []string{
			fmt.Sprint(row.Replicas), fmt.Sprint(row.Pods), fmt.Sprintf("%.0f", row.Memory/mega), fmt.Sprintf("%.0f", row.Undivided/mega), fmt.Sprintf("%.0f", row.Fill/mega),
			fmt.Sprintf("%.3f", row.CPU), fmt.Sprintf("%.0f", row.Requests), fmt.Sprintf("%.0f", row.Watches), fmt.Sprintf("%.3f", row.Filter),
		})
	}
	return t
}
