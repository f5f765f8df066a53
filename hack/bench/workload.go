package main

import (
	"context"
	"time"
)

// workload is something to be measured.
type workload struct {
	// Name is what users choose it by.
	Name string
	// Estimate is about how long a round takes at full scale on 2 cores.
	Estimate time.Duration
	// Once tells that it does its own repetitions.
	Once bool
	// offline tells that it needs no cluster.
	offline bool
	// RealNode tells that it needs a node on which containers run.
	RealNode bool
	run      func(b *bench, ctx context.Context) error
}

// workloads are all, those that take the least time first.
var workloads = []workload{
	{Name: "planner", Estimate: 40 * time.Second, Once: true, offline: true, run: (*bench).runPlanner},
	{Name: "on-paper", Estimate: 10 * time.Second, Once: true, offline: true, run: (*bench).runPaper},
	{Name: "1x1000-and-down", Estimate: 100 * time.Second, run: (*bench).runOne},
	{Name: "100x10", Estimate: 75 * time.Second, run: (*bench).runTens},
	{Name: "1000x1", Estimate: 110 * time.Second, run: (*bench).runSingles},
	{Name: "apply-storm", Estimate: 40 * time.Second, run: (*bench).runApplies},
	{Name: "rollout", Estimate: 60 * time.Second, run: (*bench).runRollout},
	{Name: "real-node", Estimate: 2 * time.Minute, RealNode: true, run: (*bench).runRealNode},
	{Name: "crowd", Estimate: 150 * time.Second, Once: true, run: (*bench).runCrowd},
	{Name: "standby", Estimate: 3 * time.Minute, Once: true, run: (*bench).runStandby},
	{Name: "restart-and-idle", Estimate: 10 * time.Minute, Once: true, run: (*bench).runRestart},
	{Name: "shards", Estimate: 8 * time.Minute, Once: true, run: (*bench).runShards},
	{Name: "growth", Estimate: 7 * time.Minute, Once: true, run: (*bench).runGrowth},
}

func workloadNames() string {
	names := ""
	for _, w := range workloads {
		names += " " + w.Name
	}
	return names[1:]
}
