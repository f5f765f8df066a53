package main

import "fmt"

// shardTable has what each of several replicas has of the whole.
func (r *report) shardTable() table {
	t := table{title: "Replicas that share the work", columns: []string{
		"replicas", "empty MB", "pods", "RSS MB at most", "on average", "of one's", "50 000 pods: MB", "of one's", "without the program's pages", "of one's",
		"read for updates MB", "of one's", "pods heard of", "of one's", "pods made", "s", "x one",
	}, note: fmt.Sprintf("With %d shards. Empty: before there are pods. 50 000 pods: computed from the two. Read, heard of: for the same updates of pods, "+
		"by the replica that has the most. Pods made: one for each PodManager, with the same limit of %d requests a second for each replica.", shardCount, sharedQPS)}
	for _, count := range replicaCounts {
		making := r.Results.find(sharedMaking, replicasName(count))
		if making == nil {
			continue
		}
		cell := func(workload string, m metric, format string, unit float64) string {
			value, measured := figure{workload, replicasName(count), m}.of(r.Results)
			return textOf(value, measured, format, unit)
		}
		part := func(of func(results, int) (float64, bool)) string {
			own, measured := of(r.Results, count)
			one, _ := of(r.Results, 1)
			return textOf(own, measured, "%.2f", one)
		}
		many, measured := ofMany(memory)(r.Results, count)
		own, _ := ofMany(memoryOwn)(r.Results, count)
		t.rows = append(t.rows, []string{
			fmt.Sprint(count), cell(sharedNothing, memory, "%.0f", mega), cell(sharedCaches, podCount, "%.0f", 1), cell(sharedCaches, memory, "%.0f", mega),
			cell(sharedCaches, memoryMean, "%.0f", mega), part(ofReplicas(memory)), textOf(many, measured, "%.0f", mega), part(ofMany(memory)),
			textOf(own, measured, "%.0f", mega), part(ofMany(memoryOwn)),
			cell(sharedCaches, received, "%.2f", mega), part(ofReplicas(received)), cell(sharedCaches, heard, "%.0f", 1), part(ofReplicas(heard)),
			cell(sharedMaking, podCount, "%.0f", 1), cell(sharedMaking, existTime, "%.2f", 1), r.speed(making, existTime, replicasName(1)),
		})
	}
	return t
}

// textOf is a figure as text; empty if it was not measured.
func textOf(value float64, measured bool, format string, unit float64) string {
	if !measured {
		return ""
	}
	return fmt.Sprintf(format, value/unit)
}
