package figures

// Metric names what is measured. Times are in seconds and sizes in bytes, unless the comment says otherwise.
type Metric string

// MB is a megabyte, the unit in which sizes are reported.
const MB = 1 << 20

// Times, measured from the first request of the bench.
const (
	OwnersTime  Metric = "owners"  // until all owners are created
	ExistTime   Metric = "exist"   // until all pods exist
	ReadyTime   Metric = "ready"   // until all pods are Ready
	GoneTime    Metric = "gone"    // until all pods are gone
	UpdateTime  Metric = "update"  // until all pods are updated
	SettledTime Metric = "settled" // until the owners' statuses show that everything is done
	GoodTime    Metric = "good"    // until all PodManagers are known to be good: see census.OwnerState
	OldGoneTime Metric = "oldGone" // until there is no old pod any more, not even a terminating one
)

// StartTime is the time from the start of the process until the first pod was replaced.
const StartTime Metric = "start"

// Metrics of the controller's process.
const (
	CPUTime    Metric = "cpu"     // CPU time that the workload took
	Memory     Metric = "rss"     // memory of the process; with replicas that share the work, the largest
	PeakMemory Metric = "peakRSS" // peak memory of the process
)

// SchedulerTime is the CPU time of the scheduler.
const SchedulerTime Metric = "schedulerCPU"

// Metrics of the controller's requests.
const (
	AllRequests  Metric = "requests"     // number of requests
	Writes       Metric = "writes"       // requests that write
	StatusWrites Metric = "statusWrites" // requests that write the status of an owner

	WritesEach       Metric = "writesEach"       // for each owner, from its creation until it has settled
	StatusWritesEach Metric = "statusWritesEach" // the same for the status
	LaterWritesEach  Metric = "laterWritesEach"  // writes after it has settled, until it is known to be good

	WatchesLost Metric = "watchesLost" // how many watches of any client the API server closed because it was too busy to serve them
	LiveReads   Metric = "liveReads"   // how often our controller read from the API server because its cache was behind
)

// Metrics of an update.
const (
	PodCount       Metric = "pods"           // desired number of pods
	LeastAvailable Metric = "leastAvailable" // the lowest number of available pods
	MostPods       Metric = "mostPods"       // the highest number of pods, without terminating ones
	AddressesKept  Metric = "addressesKept"  // how many of the pods at the end are the same pods at the same addresses
)

// Metrics of replicas that share the work.
const (
	MemoryMean Metric = "rssMean"      // average memory of a replica
	MemoryOwn  Metric = "rssAnonymous" // memory of the largest replica, without the pages of the program

	Received      Metric = "received"      // the most that any replica reads because pods are updated
	ReceivedMean  Metric = "receivedMean"  // the same, on average
	PodEvents     Metric = "podEvents"     // the most pods whose updates any replica receives
	PodEventsMean Metric = "podEventsMean" // the same, on average
)

// Metrics of one change of a small PodManager, in milliseconds.
const (
	SyncMillis Metric = "syncMillis" // how long a sync takes
	CPUMillis  Metric = "cpuMillis"  // the CPU time for the whole change
)

// Metrics of one call of the planner.
const (
	PlanMillis Metric = "planMillis" // in milliseconds
	PlanAllocs Metric = "planAllocs" // number of allocations
	PlanBytes  Metric = "planBytes"  // size of the allocations
)

// Metrics of applies.
const (
	ApplyMedian  Metric = "applyMedian" // in milliseconds
	ApplyLast    Metric = "applyLast"   // the 99th percentile, in milliseconds
	TrialCount   Metric = "trials"      // how many pods the webhook has created in dry-run requests for them
	WarningCount Metric = "warnings"    // number of warnings
)
