package figures

import "fmt"

// spreadingTable shows what it costs to spread pods by default.
func (r *Report) spreadingTable() table {
	t := table{title: "Spreading pods by default", columns: []string{
		"created", "contender", "Ready s", "least to most s", "scheduler CPU s", "for each pod ms", "controller CPU s",
	}, note: "The template says nothing about spreading. The scheduler spreads the pods of a ReplicaSet by itself; those of a PodManager it spreads by " +
		"constraints that the controller adds, unless it runs with -default-spreading=none."}
	for _, one := range r.Results.withPrefix(Spreading) {
		ready, _ := one.median(ReadyTime)
		least, most, _ := r.Results.extremes(one.Workload, one.Contender, ReadyTime)
		scheduler, _ := one.median(SchedulerTime)
		pods, _ := one.median(PodCount)
		controller, _ := one.median(CPUTime)
		t.rows = append(t.rows, []string{one.Title, one.Contender, fmt.Sprintf("%.2f", ready), fmt.Sprintf("%.2f to %.2f", least, most),
			fmt.Sprintf("%.2f", scheduler), fmt.Sprintf("%.2f", 1000*scheduler/pods), fmt.Sprintf("%.2f", controller)})
	}
	return t
}
