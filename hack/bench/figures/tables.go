package figures

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// table is one table of the report.
type table struct {
	title string
	// note explains the columns that are not self-explanatory.
	note    string
	columns []string
	rows    [][]string
}

// isNumeric reports whether a column has only numbers, which are right-aligned.
func (t table) isNumeric(column int) bool {
	for _, row := range t.rows {
		value, _, _ := strings.Cut(row[column], " ")
		if _, err := strconv.ParseFloat(value, 64); err != nil && value != "" {
			return false
		}
	}
	return true
}

// headline is the main time of a workload, and its meaning.
var headline = map[string]struct {
	metric Metric
	means  string
}{
	CreateOne:     {ExistTime, "pods exist"},
	CreateTens:    {ExistTime, "pods exist"},
	CreateSingles: {ExistTime, "pods exist"},
	ScaleDown:     {GoneTime, "pods are gone"},
	Rollout:       {UpdateTime, "pods are updated and Ready"},
	RealCreate:    {ExistTime, "pods exist"},
	RealUpdate:    {UpdateTime, "pods are updated and Ready"},
	Restart:       {StartTime, "first useful sync"},
}

// peerOf returns the contender with which the others are compared.
func peerOf(workload string) string {
	switch workload {
	case Rollout, RealCreate, RealUpdate:
		return Deployment
	default:
		return ReplicaSet
	}
}

// tables returns the tables that are not empty.
func (r *Report) tables() []table {
	all := []table{r.sideBySide(), r.realNodeTable(), r.requestTable(), r.eachTable(), r.spreadingTable(), r.growthTable(), r.shardTable(), r.paperTable(), r.plannerTable(), r.applyTable(), r.goalTable()}
	return slices.DeleteFunc(all, func(t table) bool { return len(t.rows) == 0 })
}

func (r *Report) sideBySide() table {
	t := table{title: "Side by side", columns: []string{
		"workload", "contender", "time s", "x peer", "x limit", "Ready s", "x peer", "settled s", "owners s",
		"requests", "writes", "status writes", "CPU s", "RSS MB", "peak MB", "lost watches",
	}, note: "x peer and x limit: how many times as fast as ReplicaSet (Deployment for updates and on the real node), and as bare requests. Ready, settled, " +
		"owners: the time until all pods are Ready, until the statuses say so, and until the bench had created the owners. " +
		"Requests, writes, CPU and memory are the controller's; in the lines of the limit, the bench's. Lost watches: watches of any client that the " +
		"API server closed because it was too busy to serve them."}
	for _, one := range r.Results.compared() {
		head, timed := headline[one.Workload]
		title := one.Title
		if timed {
			title += ": " + head.means
		}
		number := func(m Metric, format string, unit float64) string {
			value, measured := one.median(m)
			if !measured {
				return ""
			}
			return fmt.Sprintf(format, value/unit)
		}
		t.rows = append(t.rows, []string{title, one.Contender, number(head.metric, "%.2f", 1),
			r.speed(one, head.metric, peerOf(one.Workload)), r.speed(one, head.metric, Limit),
			number(ReadyTime, "%.2f", 1), r.speed(one, ReadyTime, peerOf(one.Workload)), number(SettledTime, "%.2f", 1), number(OwnersTime, "%.2f", 1),
			number(AllRequests, "%.0f", 1), number(Writes, "%.0f", 1), number(StatusWrites, "%.0f", 1),
			number(CPUTime, "%.2f", 1), number(Memory, "%.0f", MB), number(PeakMemory, "%.0f", MB),
			number(WatchesLost, "%.0f", 1)})
	}
	return t
}

// speed returns how many times as fast one contender is as another in the same workload, or empty if that was not measured.
func (r *Report) speed(one *Result, m Metric, than string) string {
	own, measured := one.median(m)
	other, comparable := r.Results.Median(one.Workload, than, m)
	if !measured || !comparable || own == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", other/own)
}

// realNodeTable shows what users see of an update if containers run: that the budget holds, and how many addresses are kept.
func (r *Report) realNodeTable() table {
	t := table{title: "On the real node", columns: []string{
		"contender", "pods", "created: Ready s", "least to most s", "x Deployment", "updated: Ready s", "least to most s", "x Deployment",
		"old pods gone s", "least available", "most pods", "addresses kept",
	}, note: "Containers run, and a pod is Ready when its web server answers a probe, which comes every second. maxSurge and maxUnavailable are 25 % in all " +
		"specs but that without surge. An update in place makes no surge pods: a Deployment with maxSurge 0 has the same budget, one with 25 % has " +
		"twice as many pods under way at a time. " +
		"Updated: as many pods as wanted run the new image and are Ready, and the others, if any, are on their way out. " +
		"Least available, most pods: seen during an update, in all rounds, without pods on their way out; a pod whose image was changed in place is not available " +
		"from the change on. Addresses kept: pods that are the same and have the same address after the update."}
	for _, one := range r.Results.withPrefix(RealUpdate) {
		created := r.Results.Find(RealCreate, one.Contender)
		if created == nil {
			continue
		}
		pods, _ := one.median(PodCount)
		gone, _ := one.median(OldGoneTime)
		least, _, _ := r.Results.extremes(RealUpdate, one.Contender, LeastAvailable)
		_, most, _ := r.Results.extremes(RealUpdate, one.Contender, MostPods)
		kept, _, _ := r.Results.extremes(RealUpdate, one.Contender, AddressesKept)
		row := []string{one.Contender, fmt.Sprintf("%.0f", pods)}
		row = append(row, r.spread(created, ReadyTime)...)
		row = append(row, r.spread(one, UpdateTime)...)
		t.rows = append(t.rows, append(row, fmt.Sprintf("%.2f", gone), fmt.Sprintf("%.0f of %.0f", least, pods), fmt.Sprintf("%.0f", most),
			fmt.Sprintf("%.0f of %.0f", kept, pods)))
	}
	return t
}

// spread returns the median, the lowest and the highest value of a time, and how many times as fast it is as the peer.
func (r *Report) spread(one *Result, m Metric) []string {
	value, _ := one.median(m)
	least, most, _ := r.Results.extremes(one.Workload, one.Contender, m)
	return []string{fmt.Sprintf("%.2f", value), fmt.Sprintf("%.2f to %.2f", least, most), r.speed(one, m, peerOf(one.Workload))}
}

func (r *Report) requestTable() table {
	t := table{title: "Requests of the controllers", columns: []string{"workload", "contender", "requests"}}
	for _, one := range r.Results.compared() {
		requests := one.requests()
		var parts []string
		for _, what := range slices.Sorted(maps.Keys(requests)) {
			if count := math.Ceil(requests[what]); count > 0 {
				parts = append(parts, fmt.Sprintf("%.0f %s", count, what))
			}
		}
		t.rows = append(t.rows, []string{one.Title, one.Contender, strings.Join(parts, ", ")})
	}
	return t
}

// eachTable shows what one PodManager costs the API server.
func (r *Report) eachTable() table {
	t := table{title: "Writes for each PodManager", columns: []string{"workload", "until Ready", "of the status", "later", "known to be good s", "live reads"},
		note: "Later: once the pods have been observed for a while and are known to be good, the controller stores the revision and updates the status. " +
			"Live reads: how often, in all, the controller had to read from the API server because its cache was behind."}
	for _, one := range r.Results {
		if _, counted := one.median(WritesEach); !counted || one.Workload == CreateOne {
			continue
		}
		row := []string{one.Title}
		for _, m := range []Metric{WritesEach, StatusWritesEach, LaterWritesEach, GoodTime, LiveReads} {
			text := ""
			if value, measured := one.median(m); measured {
				text = fmt.Sprintf("%.2f", value)
			}
			row = append(row, text)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (r *Report) growthTable() table {
	t := table{title: "What changing one small PodManager costs, by the number of pods in the cluster",
		columns: []string{"in the cluster", "a sync takes ms", "CPU for one change ms", "RSS MB"}}
	for _, one := range r.Results.withPrefix(Growth) {
		sync, _ := one.median(SyncMillis)
		cpu, _ := one.median(CPUMillis)
		rss, _ := one.median(Memory)
		t.rows = append(t.rows, []string{one.Title, fmt.Sprintf("%.2f", sync), fmt.Sprintf("%.2f", cpu), fmt.Sprintf("%.0f", rss/MB)})
	}
	return t
}

func (r *Report) plannerTable() table {
	t := table{title: "The planner (pkg/plan, one decision)", columns: []string{"benchmark", "ms", "KB allocated", "allocations"}}
	for _, one := range r.Results.withPrefix(Planning) {
		took, _ := one.median(PlanMillis)
		size, _ := one.median(PlanBytes)
		allocations, _ := one.median(PlanAllocs)
		t.rows = append(t.rows, []string{one.Title, fmt.Sprintf("%.3f", took), fmt.Sprintf("%.0f", size/1024), fmt.Sprintf("%.0f", allocations)})
	}
	return t
}

func (r *Report) goalTable() table {
	t := table{title: "Goals", columns: []string{"goal", "verdict", "figures"}}
	for _, g := range r.Goals {
		t.rows = append(t.rows, []string{g.Want, g.verdict(), g.Got})
	}
	return t
}
