package figures

import (
	"fmt"

	"github.com/mycompany/podmanager/hack/bench/paper"
)

// paperTable shows the computed cluster.
func (r *Report) paperTable() table {
	if r.Paper == nil {
		return table{}
	}
	c := *r.Paper
	t := table{title: fmt.Sprintf("On paper: %d pods of %d PodManagers, %d shards", paper.Pods, paper.Managers, paper.Shards), columns: []string{
		"replicas", "pods at most", "memory MB", "of which PodManagers MB", "read at the start MB", "CPU", "requests at rest /s", "watches", "API server",
	}, note: fmt.Sprintf("Computed from what single things cost here: a pod in the cache %.1f KB, a PodManager %.1f KB, a revision %.1f KB; a pod decoded %.0f us, planned for %.0f us, "+
		"reported %.0f us; the selector of a shard %.2f us, that of objects without a shard %.2f us. "+
		"CPU is the share of a core that a replica needs while all pods are replaced at %d pods a second, which is %.0f minutes; "+
		"the last column is the share of a core that the API server needs to choose which replica receives which event. "+
		"A Go process may take up to twice the memory while it is busy.",
		c.Pod/1024, c.Manager/1024, c.Revision/1024, 1e6*c.PodDecode, 1e6*c.Plan, 1e6*c.Status, 1e6*c.Match, 1e6*c.StrayMatch, paper.CreatesPerSecond, float64(paper.Pods)/paper.CreatesPerSecond/60)}
	for _, row := range paper.Rows(c, 1, 4, 8, 16, 64) {
		t.rows = append(t.rows, []string{
			fmt.Sprint(row.Replicas), fmt.Sprint(row.Pods), fmt.Sprintf("%.0f", row.Memory/MB), fmt.Sprintf("%.0f", row.Undivided/MB), fmt.Sprintf("%.0f", row.Fill/MB),
			fmt.Sprintf("%.3f", row.CPU), fmt.Sprintf("%.0f", row.Requests), fmt.Sprintf("%.0f", row.Watches), fmt.Sprintf("%.3f", row.Filter),
		})
	}
	return t
}
