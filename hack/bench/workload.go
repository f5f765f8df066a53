package main

import (
	"context"
	"time"
)

// workload is something to be measured.
type workload struct {
	name string
	// estimate is about how long a round takes at full scale on 2 cores.
	estimate time.Duration
	// once tells that it does its own repetitions.
	once bool
	// offline tells that it needs no cluster.
	offline bool
	// realNode tells that it needs a node on which containers run.
	realNode bool
	run      func(b *bench, ctx context.Context) error
}

// workloads are all, those that take the least time first.
var workloads = []workload{
	{name: "planner", estimate: 40 * time.Second, once: true, offline: true, run: (*bench).runPlanner},
	{name: "on-paper", estimate: 10 * time.Second, once: true, offline: true, run: (*bench).runPaper},
	{name: "1x1000-and-down", estimate: 100 * time.Second, run: (*bench).runOne},
	{name: "100x10", estimate: 75 * time.Second, run: (*bench).runTens},
	{name: "1000x1", estimate: 110 * time.Second, run: (*bench).runSingles},
	{name: "apply-storm", estimate: 40 * time.Second, run: (*bench).runApplies},
	{name: "rollout", estimate: 60 * time.Second, run: (*bench).runRollout},
	{name: "real-node", estimate: 2 * time.Minute, realNode: true, run: (*bench).runRealNode},
	{name: "crowd", estimate: 150 * time.Second, once: true, run: (*bench).runCrowd},
	{name: "standby", estimate: 3 * time.Minute, once: true, run: (*bench).runStandby},
	{name: "restart-and-idle", estimate: 10 * time.Minute, once: true, run: (*bench).runRestart},
	{name: "shards", estimate: 8 * time.Minute, once: true, run: (*bench).runShards},
	{name: "growth", estimate: 7 * time.Minute, once: true, run: (*bench).runGrowth},
}

func workloadNames() string {
	names := ""
	for _, w := range workloads {
		names += " " + w.name
	}
	return names[1:]
}
