package main

import "slices"

// metric names what is measured. Times are in seconds, sizes in bytes, unless it says otherwise.
type metric string

const (
	// From the first request of the bench: until all owners are created, all pods exist, are Ready, or are gone, and until the
	// owners' statuses say that all is done.
	ownersTime  metric = "owners"
	existTime   metric = "exist"
	readyTime   metric = "ready"
	goneTime    metric = "gone"
	updateTime  metric = "update"
	settledTime metric = "settled"
	// goodTime is until all PodManagers are known to be good: see ownerState.
	goodTime metric = "good"
	// oldGoneTime is until there is no old pod any more, not even one on its way out.
	oldGoneTime metric = "oldGone"
	// startTime is from the start of the process until the first pod was replaced.
	startTime metric = "start"

	// Of the controller's process. The CPU is what the workload took, the memory is what the process has.
	cpuTime metric = "cpu"
	memory  metric = "rss"
	peak    metric = "peakRSS"

	allRequests  metric = "requests"
	writes       metric = "writes"
	statusWrites metric = "statusWrites"
	// For each owner, from its creation until it has settled; and what comes after that, until it is known to be good.
	writesEach       metric = "writesEach"
	statusWritesEach metric = "statusWritesEach"
	laterWritesEach  metric = "laterWritesEach"
	// watchesLost is how many watches, whoever's, the API server closed because it was too busy to serve them.
	watchesLost metric = "watchesLost"
	// liveReads is how often our controller read anew because its cache was behind.
	liveReads metric = "liveReads"

	// Of an update: how many pods there are to be, the fewest that were available, the most that there were (without those on
	// their way out), and how many are in the end the same pods at the same addresses.
	podCount       metric = "pods"
	leastAvailable metric = "leastAvailable"
	mostPods       metric = "mostPods"
	addressesKept  metric = "addressesKept"

	// Of replicas that share the work: memory is that of the largest. What the updates of pods make a replica read, and of how many pods
	// they make it hear: at the most and on average.
	memoryMean   metric = "rssMean"
	memoryOwn    metric = "rssAnonymous"
	received     metric = "received"
	receivedMean metric = "receivedMean"
	heard        metric = "podEvents"
	heardMean    metric = "podEventsMean"

	// Of one change of a small PodManager, in milliseconds.
	syncMillis metric = "syncMillis"
	cpuMillis  metric = "cpuMillis"

	// Of one call of the planner.
	planMillis metric = "planMillis"
	planAllocs metric = "planAllocs"
	planBytes  metric = "planBytes"

	// Of applies, in milliseconds; how many pods the webhook has tried for them, and how many warnings there were.
	applyMedian  metric = "applyMedian"
	applyLast    metric = "applyLast"
	trialCount   metric = "trials"
	warningCount metric = "warnings"
)

// The workloads, as results have them.
const (
	createOne     = "create one"
	scaleDown     = "scale down"
	createTens    = "create tens"
	createSingles = "create singles"
	rollout       = "rollout"
	realCreate    = "create on the real node"
	realUpdate    = "update on the real node"
	restart       = "restart"
	idle          = "idle"
	alone         = "alone"
	crowd         = "crowd"
	standbyBefore = "standby before"
	standby       = "standby"
)

// sample is what one turn of a contender came to.
type sample struct {
	Values   map[metric]float64
	Requests requestCounts `json:",omitempty"`
}

// result is what one contender came to at one workload.
type result struct {
	Workload, Contender string
	// Title names the workload for people, with its size.
	Title   string
	Samples []sample
}

// results are all, in the order in which they were first had.
type results []*result

func (r *results) add(workload, title, contender string, s sample) {
	found := r.find(workload, contender)
	if found == nil {
		found = &result{Workload: workload, Contender: contender, Title: title}
		*r = append(*r, found)
	}
	found.Samples = append(found.Samples, s)
}

func (r *results) find(workload, contender string) *result {
	for _, candidate := range *r {
		if candidate.Workload == workload && candidate.Contender == contender {
			return candidate
		}
	}
	return nil
}

// median is that of a metric over all turns; false if it was never measured.
func (r *results) median(workload, contender string, m metric) (float64, bool) {
	found := r.find(workload, contender)
	if found == nil {
		return 0, false
	}
	return found.median(m)
}

func (r *result) median(m metric) (float64, bool) { return median(r.values(m)) }

// values are those of a metric in all turns in which it was measured.
func (r *result) values(m metric) []float64 {
	var values []float64
	for _, s := range r.Samples {
		if value, measured := s.Values[m]; measured {
			values = append(values, value)
		}
	}
	return values
}

// extremes are the least and the highest value of a metric over all turns; false if it was never measured.
func (r *results) extremes(workload, contender string, m metric) (least, most float64, measured bool) {
	found := r.find(workload, contender)
	if found == nil {
		return 0, 0, false
	}
	values := found.values(m)
	if len(values) == 0 {
		return 0, 0, false
	}
	return slices.Min(values), slices.Max(values), true
}

// requests are the medians of each kind of request.
func (r *result) requests() map[string]float64 {
	medians := map[string]float64{}
	for _, s := range r.Samples {
		for what := range s.Requests {
			var counts []float64
			for _, other := range r.Samples {
				counts = append(counts, float64(other.Requests[what]))
			}
			medians[what], _ = median(counts)
		}
	}
	return medians
}

// median is the middle one of values, or the mean of the two in the middle; false if there is none.
func median(values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half], true
	}
	return (sorted[half-1] + sorted[half]) / 2, true
}
