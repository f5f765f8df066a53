package workloads

import (
	"math"
	"time"
)

// replicasOfMany is how many pods each of many owners has.
const replicasOfMany = 10

// sizes are how much of everything there is.
type sizes struct {
	// One is the pods of a single owner; Tens the owners that have ten pods each; Singles those that have one.
	One, Tens, Singles int
	// Rollout is the pods that are updated.
	Rollout int
	// RealNode is the pods that are created and updated where containers run.
	RealNode int
	// Calibration is the pods for finding out how many workers the limit takes.
	Calibration int
	// Managers is the owners, of ten pods each, that there are when a controller is restarted; Starts how often it is.
	Managers, Starts int
	Idle             time.Duration
	// Grace is how long a PodManager looks at its pods before it calls them good.
	Grace time.Duration
	// Crowd is other people's pods beside Few owners of ours, and Updates how many of them change; Events is what a standby sees.
	// Rest is how long a process is left alone before its memory is measured.
	Few, Crowd, Updates, Events int
	Rest                        time.Duration
	// Quiet is how long a controller has to write nothing to be done: our own puts off a status for a second at most.
	Quiet time.Duration
	// Growth are the pods in the cluster while one small PodManager is synced; Batches of Operations each.
	Growth              []int
	Batches, Operations int
	// Sharded is the least number of pods of which replicas have a part each, Shares the PodManagers that they make pods for, and
	// Settle how long they are left alone before their memory is measured: longer than the controller waits until it frees memory.
	Sharded, Shares int
	Settle          time.Duration
	// Applies is how many PodManagers are applied, and applied again with another image.
	Applies int
}

func sizesAt(scale float64) sizes {
	scaled := func(full, least int) int { return max(least, int(math.Round(float64(full)*scale))) }
	quiet, batches := 1500*time.Millisecond, 5
	// Twice the API's default: on a slow machine the first pods must not be known to be good before the last ones are Ready.
	grace, rest, settle := time.Minute, 6*time.Second, 36*time.Second
	if scale < 0.2 { // only to show that all works
		quiet, batches = 500*time.Millisecond, 2
		grace, rest, settle = time.Second, time.Second, time.Second
	}
	return sizes{
		One: scaled(1000, 10), Tens: scaled(100, 2), Singles: scaled(1000, 10),
		Rollout: scaled(200, 8), RealNode: scaled(20, 4), Calibration: scaled(300, 10),
		Managers: scaled(1000, 2), Starts: scaled(5, 1),
		Few: scaled(10, 2), Crowd: scaled(10_000, 100), Updates: scaled(5000, 100), Events: scaled(100_000, 200),
		Grace: grace, Rest: rest,
		Sharded: 8 * podsOfSharded, Shares: scaled(160, 16), Settle: settle,
		Quiet:  quiet,
		Idle:   max(3*time.Second, time.Duration(scale*float64(time.Minute))),
		Growth: []int{scaled(1000, 10), scaled(10_000, 20), scaled(50_000, 40)},
		// A batch has to be long enough for the kernel's clock, which counts CPU in hundredths of a second.
		Batches: batches, Operations: scaled(60, 5), Applies: scaled(500, 20),
	}
}
