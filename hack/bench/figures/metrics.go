package figures

// Metric names what is measured. Times are in seconds, sizes in bytes, unless it says otherwise.
type Metric string

// MB is a megabyte, the unit in which sizes are told.
const MB = 1 << 20

// Times from the first request of the bench.
const (
	OwnersTime  Metric = "owners"  // until all owners are created
	ExistTime   Metric = "exist"   // until all pods exist
	ReadyTime   Metric = "ready"   // until all pods are Ready
	GoneTime    Metric = "gone"    // until all pods are gone
	UpdateTime  Metric = "update"  // until all pods are updated
	SettledTime Metric = "settled" // until the owners' statuses say that all is done
	GoodTime    Metric = "good"    // until all PodManagers are known to be good: see census.OwnerState
	OldGoneTime Metric = "oldGone" // until there is no old pod any more, not even one on its way out
)

// StartTime is from the start of the process until the first pod was replaced.
const StartTime Metric = "start"

// Of the controller's process.
const (
	CPUTime    Metric = "cpu"     // what the workload took
	Memory     Metric = "rss"     // what the process has; of replicas that share the work, the largest
	PeakMemory Metric = "peakRSS" // the most that the process has had
)

// Of the requests of the controller.
const (
	AllRequests  Metric = "requests"     // how many there were
	Writes       Metric = "writes"       // those of them that write
	StatusWrites Metric = "statusWrites" // those of them that write the status of an owner

	WritesEach       Metric = "writesEach"       // for each owner, from its creation until it has settled
	StatusWritesEach Metric = "statusWritesEach" // the same, of the status
	LaterWritesEach  Metric = "laterWritesEach"  // what comes after that, until it is known to be good

	WatchesLost Metric = "watchesLost" // how many watches, whoever's, the API server closed because it was too busy to serve them
	LiveReads   Metric = "liveReads"   // how often our controller read anew because its cache was behind
)

// Of an update.
const (
	PodCount       Metric = "pods"           // how many pods there are to be
	LeastAvailable Metric = "leastAvailable" // the fewest that were available
	MostPods       Metric = "mostPods"       // the most that there were, without those on their way out
	AddressesKept  Metric = "addressesKept"  // how many are in the end the same pods at the same addresses
)

// Of replicas that share the work.
const (
	MemoryMean Metric = "rssMean"      // what a replica has on average
	MemoryOwn  Metric = "rssAnonymous" // what the replica that has the most has without the pages of the program

	Received      Metric = "received"      // what the updates of pods make a replica read, at the most
	ReceivedMean  Metric = "receivedMean"  // the same, on average
	PodEvents     Metric = "podEvents"     // of how many pods the updates make a replica hear, at the most
	PodEventsMean Metric = "podEventsMean" // the same, on average
)

// Of one change of a small PodManager, in milliseconds.
const (
	SyncMillis Metric = "syncMillis" // how long a sync takes
	CPUMillis  Metric = "cpuMillis"  // the CPU for the whole change
)

// Of one call of the planner.
const (
	PlanMillis Metric = "planMillis" // in milliseconds
	PlanAllocs Metric = "planAllocs" // how many allocations
	PlanBytes  Metric = "planBytes"  // of what size
)

// Of applies.
const (
	ApplyMedian  Metric = "applyMedian" // in milliseconds
	ApplyLast    Metric = "applyLast"   // the 99th percentile, in milliseconds
	TrialCount   Metric = "trials"      // how many pods the webhook has tried for them
	WarningCount Metric = "warnings"    // how many warnings there were
)
