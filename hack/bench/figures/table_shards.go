package figures

import "fmt"

// shardTable shows the share of each of several replicas.
func (r *Report) shardTable() table {
	t := table{title: "Replicas that share the work", columns: []string{
		"replicas", "empty MB", "pods", "RSS MB at most", "on average", "of 1 replica", "50 000 pods: MB", "of 1 replica", "without the program's pages", "of 1 replica",
		"read for updates MB", "of 1 replica", "updates received", "of 1 replica", "pods created", "s", "x 1 replica",
	}, note: fmt.Sprintf("With %d shards. Empty: before there are pods. 50 000 pods: computed from the memory without and with pods. "+
		"Read and received: for the same updates of pods, by the replica that has the most. Pods created: one for each PodManager, with the same limit of %d requests a second for each replica.", ShardCount, SharedQPS)}
	for _, count := range ReplicaCounts {
		making := r.Results.Find(SharedMaking, ReplicasName(count))
		if making == nil {
			continue
		}
		cell := func(workload string, m Metric, format string, unit float64) string {
			value, measured := figure{workload, ReplicasName(count), m}.of(r.Results)
			return textOf(value, measured, format, unit)
		}
		part := func(of func(Results, int) (float64, bool)) string {
			own, measured := of(r.Results, count)
			one, _ := of(r.Results, 1)
			return textOf(own, measured, "%.2f", one)
		}
		many, measured := ofMany(Memory)(r.Results, count)
		own, _ := ofMany(MemoryOwn)(r.Results, count)
		t.rows = append(t.rows, []string{
			fmt.Sprint(count), cell(SharedNothing, Memory, "%.0f", MB), cell(SharedCaches, PodCount, "%.0f", 1), cell(SharedCaches, Memory, "%.0f", MB),
			cell(SharedCaches, MemoryMean, "%.0f", MB), part(ofReplicas(Memory)), textOf(many, measured, "%.0f", MB), part(ofMany(Memory)),
			textOf(own, measured, "%.0f", MB), part(ofMany(MemoryOwn)),
			cell(SharedCaches, Received, "%.2f", MB), part(ofReplicas(Received)), cell(SharedCaches, PodEvents, "%.0f", 1), part(ofReplicas(PodEvents)),
			cell(SharedMaking, PodCount, "%.0f", 1), cell(SharedMaking, ExistTime, "%.2f", 1), r.speed(making, ExistTime, ReplicasName(1)),
		})
	}
	return t
}

// textOf formats a figure. It returns empty if the figure was not measured.
func textOf(value float64, measured bool, format string, unit float64) string {
	if !measured {
		return ""
	}
	return fmt.Sprintf(format, value/unit)
}
