package figures

import (
	"fmt"
	"strings"
)

// Goal is a target, and whether we reach it.
type Goal struct {
	Want string
	// Got has the figures. It is empty if they were not measured.
	Got     string
	Reached bool
}

func (g Goal) verdict() string {
	switch {
	case g.Got == "":
		return "not measured"
	case g.Reached:
		return "reached"
	default:
		return "missed"
	}
}

// goals returns all goals.
func goals(r Results) []Goal {
	return []Goal{
		faster(r, "1 x 1000 pods exist at least as fast as ReplicaSet's", CreateOne, Ours, ReplicaSet, ExistTime, 1),
		faster(r, "100 x 10 pods exist at least 1.5 x as fast as ReplicaSets'", CreateTens, Ours, ReplicaSet, ExistTime, 1.5),
		faster(r, "100 x 10 pods are Ready at least as fast as ReplicaSets'", CreateTens, Ours, ReplicaSet, ReadyTime, 1),
		faster(r, "1000 x 1 pods exist at least as fast as ReplicaSets'", CreateSingles, Ours, ReplicaSet, ExistTime, 1),
		faster(r, "1000 x 1 pods are Ready at least as fast as ReplicaSets'", CreateSingles, Ours, ReplicaSet, ReadyTime, 1),
		faster(r, "1000 x 1 pods exist at least 1.5 x as fast as Deployments'", CreateSingles, Ours, Deployment, ExistTime, 1.5),
		faster(r, "1000 x 1 pods are Ready at least 1.5 x as fast as Deployments'", CreateSingles, Ours, Deployment, ReadyTime, 1.5),
		below(r, "at most 3.2 writes for each of 1000 PodManagers with one pod until it is Ready, including its pod and event", figure{CreateSingles, Ours, WritesEach}, 3.2, "%.2f"),
		below(r, "at most 1.1 status writes for each of 1000 PodManagers with one pod until it is Ready", figure{CreateSingles, Ours, StatusWritesEach}, 1.1, "%.2f"),
		below(r, "at most 2 more writes for each of 1000 PodManagers with one pod until it is known to be good", figure{CreateSingles, Ours, LaterWritesEach}, 2, "%.2f"),
		below(r, "no live reads because of a stale cache with 1000 x 1 pods", figure{CreateSingles, Ours, LiveReads}, 0, "%.0f"),
		faster(r, "1 x 1000 pods exist at 90 % of the speed of bare requests, or more", CreateOne, Ours, Limit, ExistTime, 0.9),
		compare(r, "at most a fifth of ReplicaSet's status writes for 1 x 1000", figure{CreateOne, Ours, StatusWrites},
			figure{CreateOne, ReplicaSet, StatusWrites}, 0.2, "%.0f, ReplicaSet %.0f", 1),
		faster(r, "200 pods updated in place at least 3 x as fast as Deployment does", Rollout, InPlace, Deployment, UpdateTime, 3),
		faster(r, "20 pods with containers updated in place at least 3 x as fast as a Deployment with the same budget does", RealUpdate, InPlace, NoSurge, UpdateTime, 3),
		kept(r, "an update in place keeps the addresses of all 20 pods", 20),
		remaining(r, "15 of 20 pods, as maxUnavailable says, remain available during an update in place", 15),
		compare(r, "with 1000 x 10 pods at most half of the peer's memory (RSS after a minute)", figure{Idle, Ours, Memory},
			figure{Idle, ReplicaSet, Memory}, 0.5, "%.0f MB, peer %.0f MB", MB),
		below(r, "first useful sync within 10 s of the start with 1000 x 10 pods", figure{Restart, Ours, StartTime}, 10, "%.2f s"),
		compare(r, "first useful sync after at most 1.2 x the peer's time with 1000 x 10 pods", figure{Restart, Ours, StartTime},
			figure{Restart, ReplicaSet, StartTime}, 1.2, "%.2f s, peer %.2f s", 1),
		grown(r, "10 000 pods of other owners next to 100 of ours cost at most 3 MB", figure{Alone, Ours, Memory}, figure{Crowd, Ours, Memory}, 3),
		below(r, "5000 updates of other owners' pods cost at most 0.1 s of CPU", figure{Crowd, Ours, CPUTime}, 0.1, "%.2f s"),
		grown(r, "watching 5000 nodes for one PodManager costs at most 30 MB", figure{FewNodes, Ours, Memory}, figure{ManyNodes, Ours, Memory}, 30),
		below(r, "while 5000 kubelets report for 20 s, that takes at most 0.2 s of CPU", figure{ManyNodes, Ours, CPUTime}, 0.2, "%.2f s"),
		grown(r, "100 000 events cost a standby at most 5 MB", figure{StandbyBefore, Ours, Memory}, figure{Standby, Ours, Memory}, 5),
		below(r, "the planner takes under 1 ms for 1000 pods at rest", figure{SteadyThousand, Ours, PlanMillis}, 1, "%.2f ms"),
		below(r, "no write in an idle minute with 1000 x 10 pods", figure{Idle, Ours, Writes}, 0, "%.0f writes"),
		flat(r, "a change costs at most 1.5 x as much CPU in the largest cluster as in the smallest", CPUMillis, 1.5),
		flat(r, "a sync takes at most 1.5 x as long in the largest cluster as in the smallest", SyncMillis, 1.5),
		shared(r, "with 50 000 pods (computed from fewer), each of N replicas that share the work has at most 1/N + 15 % of the memory of one", ofMany(Memory)),
		shared(r, "the same, without the pages of the program, which replicas on one machine share", ofMany(MemoryOwn)),
		shared(r, "each of N replicas reads at most 1/N + 15 % of what a single replica reads for updates of pods", ofReplicas(Received)),
		shared(r, "each of N replicas receives at most 1/N + 15 % of the updates of pods that a single replica receives", ofReplicas(PodEvents)),
		faster(r, "4 replicas make pods at least 3.2 x as fast as one replica with the same limit of requests", SharedMaking, ReplicasName(4), ReplicasName(1), ExistTime, 3.2),
	}
}

// figure identifies a number in the results.
type figure struct {
	workload, contender string
	metric              Metric
}

func (f figure) of(r Results) (float64, bool) { return r.Median(f.workload, f.contender, f.metric) }

// faster requires one time to be at least that many times shorter than another.
func faster(r Results, want, workload, who, than string, time Metric, times float64) Goal {
	own, measured := figure{workload, who, time}.of(r)
	other, comparable := figure{workload, than, time}.of(r)
	if !measured || !comparable {
		return Goal{Want: want}
	}
	return Goal{Want: want, Got: fmt.Sprintf("%.2f s, %s %.2f s: %.2f x", own, than, other, other/own), Reached: other >= times*own}
}

// compare requires one figure to be at most a share of another.
func compare(r Results, want string, own, other figure, share float64, format string, unit float64) Goal {
	a, measured := own.of(r)
	b, comparable := other.of(r)
	if !measured || !comparable {
		return Goal{Want: want}
	}
	got := fmt.Sprintf(format, a/unit, b/unit)
	if b > 0 {
		got += fmt.Sprintf(": %.2f x", a/b)
	}
	return Goal{Want: want, Got: got, Reached: a <= share*b}
}

// below requires a figure to be at most this high.
func below(r Results, want string, own figure, most float64, format string) Goal {
	value, measured := own.of(r)
	if !measured {
		return Goal{Want: want}
	}
	return Goal{Want: want, Got: fmt.Sprintf(format, value), Reached: value <= most}
}

// kept requires an update in place to keep at least this many addresses, in every round.
func kept(r Results, want string, addresses float64) Goal {
	own, _, measured := r.extremes(RealUpdate, InPlace, AddressesKept)
	_, other, comparable := r.extremes(RealUpdate, Deployment, AddressesKept)
	if !measured || !comparable {
		return Goal{Want: want}
	}
	pods, _ := figure{RealUpdate, InPlace, PodCount}.of(r)
	return Goal{Want: want, Got: fmt.Sprintf("%.0f of %.0f, %s %.0f of %.0f", own, pods, Deployment, other, pods), Reached: own >= addresses}
}

// remaining requires at least this many pods to be available throughout an update in place, in every round.
func remaining(r Results, want string, pods float64) Goal {
	least, _, measured := r.extremes(RealUpdate, InPlace, LeastAvailable)
	if !measured {
		return Goal{Want: want}
	}
	return Goal{Want: want, Got: fmt.Sprintf("at least %.0f", least), Reached: least >= pods}
}

// grown requires a size to have grown by at most this many megabytes.
func grown(r Results, want string, from, to figure, most float64) Goal {
	before, measured := from.of(r)
	after, comparable := to.of(r)
	if !measured || !comparable {
		return Goal{Want: want}
	}
	growth := (after - before) / MB
	return Goal{Want: want, Got: fmt.Sprintf("%.1f MB, then %.1f MB: %+.1f MB", before/MB, after/MB, growth), Reached: growth <= most}
}

// flat requires a figure not to grow with the cluster.
func flat(r Results, want string, m Metric, most float64) Goal {
	sizes := r.withPrefix(Growth)
	if len(sizes) < 2 {
		return Goal{Want: want}
	}
	first, last := sizes[0], sizes[len(sizes)-1]
	least, _ := first.median(m)
	value, _ := last.median(m)
	return Goal{
		Want: want, Got: fmt.Sprintf("%.2f ms with %s, %.2f ms with %s: %.2f x", least, first.Title, value, last.Title, value/least),
		Reached: value <= most*least,
	}
}

// shared requires each of several replicas to have about its share of what a single replica has.
func shared(r Results, want string, of func(r Results, replicas int) (float64, bool)) Goal {
	one, measured := of(r, 1)
	g := Goal{Want: want, Reached: true}
	var parts []string
	for _, count := range ReplicaCounts[1:] {
		most, comparable := of(r, count)
		if !measured || !comparable {
			return Goal{Want: want}
		}
		g.Reached = g.Reached && most/one <= 1/float64(count)+0.15
		parts = append(parts, fmt.Sprintf("N = %d: %.0f %%", count, 100*most/one))
	}
	g.Got = strings.Join(parts, ", ")
	return g
}

// ofReplicas returns a figure of the replica with the highest value.
func ofReplicas(m Metric) func(r Results, replicas int) (float64, bool) {
	return func(r Results, replicas int) (float64, bool) {
		return figure{SharedCaches, ReplicasName(replicas), m}.of(r)
	}
}

// manyPods is the number of pods in the goal about memory.
const manyPods = 50_000

// ofMany returns the memory of the largest replica, extrapolated to very many pods: its memory without pods, plus the measured memory per pod.
func ofMany(m Metric) func(r Results, replicas int) (float64, bool) {
	return func(r Results, replicas int) (float64, bool) {
		empty, measured := figure{SharedNothing, ReplicasName(replicas), m}.of(r)
		full, _ := figure{SharedCaches, ReplicasName(replicas), m}.of(r)
		pods, comparable := figure{SharedCaches, ReplicasName(replicas), PodCount}.of(r)
		if !measured || !comparable || pods == 0 {
			return 0, false
		}
		return empty + (full-empty)*manyPods/pods, true
	}
}
