package workloads

import (
	"math"
	"time"
)

// replicasOfMany is the number of pods of each of many owners.
const replicasOfMany = 10

// sizes has the sizes of all workloads.
type sizes struct {
	// One is the number of pods of a single owner, Tens the number of owners with ten pods each, and Singles the number of owners with one pod.
	One, Tens, Singles int
	// Rollout is the number of pods that are updated.
	Rollout int
	// RealNode is the number of pods that are created and updated on the real node.
	RealNode int
	// Calibration is the number of pods for finding the best number of workers for the limit.
	Calibration int
	// Managers is the number of owners, with ten pods each, when a controller is restarted. Starts is the number of restarts.
	Managers, Starts int
	Idle             time.Duration
	// Grace is how long a PodManager observes its pods before it considers them good.
	Grace time.Duration
	// Crowd is the number of other owners' pods, next to Few owners of ours. Updates is how many of them change, and Events how many events a
	// standby sees. Rest is how long a process is left idle before its memory is measured.
	Few, Crowd, Updates, Events int
	Rest                        time.Duration
	// Nodes is the number of nodes that the controller watches for one PodManager.
	Nodes int
	// Quiet is how long a controller has to write nothing to count as done.
	Quiet time.Duration
	// Growth has the numbers of pods in the cluster at which one small PodManager is synced, in Batches of Operations each.
	Growth              []int
	Batches, Operations int
	// Sharded is the minimum number of pods that the replicas divide, and Shares the number of PodManagers for which they create pods. Settle is
	// how long they are left idle before their memory is measured, which is longer than the controller waits before it frees memory.
	Sharded, Shares int
	Settle          time.Duration
	// Applies is the number of PodManagers that are applied, and applied again with another image.
	Applies int
}

func sizesAt(scale float64) sizes {
	scaled := func(full, least int) int { return max(least, int(math.Round(float64(full)*scale))) }
	quiet, batches := 1500*time.Millisecond, 5
	// Twice the API's default: on a slow machine, the first pods must not be known to be good before the last ones are Ready.
	grace, rest, settle := time.Minute, 6*time.Second, 36*time.Second
	if scale < 0.2 { // a smoke test
		quiet, batches = 500*time.Millisecond, 2
		grace, rest, settle = time.Second, time.Second, time.Second
	}
	return sizes{
		One: scaled(1000, 10), Tens: scaled(100, 2), Singles: scaled(1000, 10),
		Rollout: scaled(200, 8), RealNode: scaled(20, 4), Calibration: scaled(300, 10),
		Managers: scaled(1000, 2), Starts: scaled(5, 1),
		Few: scaled(10, 2), Crowd: scaled(10_000, 100), Updates: scaled(5000, 100), Events: scaled(100_000, 200),
		Nodes: scaled(5000, 20),
		Grace: grace, Rest: rest,
		Sharded: 8 * podsOfSharded, Shares: scaled(160, 16), Settle: settle,
		Quiet:  quiet,
		Idle:   max(3*time.Second, time.Duration(scale*float64(time.Minute))),
		Growth: []int{scaled(1000, 10), scaled(10_000, 20), scaled(50_000, 40)},
		// A batch has to be long enough for the kernel's clock, which counts CPU time in hundredths of a second.
		Batches: batches, Operations: scaled(60, 5), Applies: scaled(500, 20),
	}
}
