package workloads

import (
	"context"
	"time"
)

// Workload is something to measure.
type Workload struct {
	// Name is how users select it.
	Name string
	// Estimate is about how long a round takes at full scale on 2 cores.
	Estimate time.Duration
	// Once is set if the workload does its own repetitions.
	Once bool
	// RealNode is set if it needs a node on which containers run.
	RealNode bool
	// offline is set if it needs no cluster.
	offline bool
	run     func(b *Bench, ctx context.Context) error
}

// All has all workloads, the shortest first.
var All = []Workload{
	{Name: "planner", Estimate: 40 * time.Second, Once: true, offline: true, run: (*Bench).runPlanner},
	{Name: "on-paper", Estimate: 10 * time.Second, Once: true, offline: true, run: (*Bench).runPaper},
	{Name: "1x1000-and-down", Estimate: 100 * time.Second, run: (*Bench).runOne},
	{Name: "100x10", Estimate: 75 * time.Second, run: (*Bench).runTens},
	{Name: "spreading", Estimate: 75 * time.Second, run: (*Bench).runSpreading},
	{Name: "1000x1", Estimate: 110 * time.Second, run: (*Bench).runSingles},
	{Name: "apply-storm", Estimate: 40 * time.Second, run: (*Bench).runApplies},
	{Name: "rollout", Estimate: 60 * time.Second, run: (*Bench).runRollout},
	{Name: "real-node", Estimate: 2 * time.Minute, RealNode: true, run: (*Bench).runRealNode},
	{Name: "nodes", Estimate: time.Minute, Once: true, run: (*Bench).runNodes},
	{Name: "crowd", Estimate: 150 * time.Second, Once: true, run: (*Bench).runCrowd},
	{Name: "standby", Estimate: 3 * time.Minute, Once: true, run: (*Bench).runStandby},
	{Name: "restart-and-idle", Estimate: 10 * time.Minute, Once: true, run: (*Bench).runRestart},
	{Name: "shards", Estimate: 8 * time.Minute, Once: true, run: (*Bench).runShards},
	{Name: "growth", Estimate: 7 * time.Minute, Once: true, run: (*Bench).runGrowth},
}
