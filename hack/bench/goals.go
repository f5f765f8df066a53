package main

import (
	"fmt"
	"strings"
)

// goal is something that we want to reach, and whether we do.
type goal struct {
	Want string
	// Got has the figures; empty if it was not measured.
	Got     string
	Reached bool
}

func (g goal) verdict() string {
	switch {
	case g.Got == "":
		return "not measured"
	case g.Reached:
		return "reached"
	default:
		return "missed"
	}
}

// mega is a megabyte.
const mega = 1 << 20

// goals are all.
func goals(r results) []goal {
	return []goal{
		faster(r, "1 x 1000 pods exist at least as fast as ReplicaSet's", createOne, ours, replicaSet, existTime, 1),
		faster(r, "100 x 10 pods exist at least 1.5 x as fast as ReplicaSets'", createTens, ours, replicaSet, existTime, 1.5),
		faster(r, "100 x 10 pods are Ready at least as fast as ReplicaSets'", createTens, ours, replicaSet, readyTime, 1),
		faster(r, "1000 x 1 pods exist at least as fast as ReplicaSets'", createSingles, ours, replicaSet, existTime, 1),
		faster(r, "1000 x 1 pods are Ready at least as fast as ReplicaSets'", createSingles, ours, replicaSet, readyTime, 1),
		faster(r, "1000 x 1 pods exist at least 1.5 x as fast as Deployments'", createSingles, ours, deployment, existTime, 1.5),
		faster(r, "1000 x 1 pods are Ready at least 1.5 x as fast as Deployments'", createSingles, ours, deployment, readyTime, 1.5),
		below(r, "at most 3.2 writes for each of 1000 x 1 until it is Ready, pod and event included", figure{createSingles, ours, writesEach}, 3.2, "%.2f"),
		below(r, "at most 1.1 status writes for each of 1000 x 1 until it is Ready", figure{createSingles, ours, statusWritesEach}, 1.1, "%.2f"),
		below(r, "at most 2 more writes for each of 1000 x 1 until it is known to be good", figure{createSingles, ours, laterWritesEach}, 2, "%.2f"),
		below(r, "no live reads for lack of a fresh cache with 1000 x 1", figure{createSingles, ours, liveReads}, 0, "%.0f"),
		faster(r, "1 x 1000 pods exist at 90 % of the speed of bare requests, or more", createOne, ours, limit, existTime, 0.9),
		compare(r, "at most a fifth of ReplicaSet's status writes for 1 x 1000", figure{createOne, ours, statusWrites},
			figure{createOne, replicaSet, statusWrites}, 0.2, "%.0f, ReplicaSet %.0f", 1),
		faster(r, "200 pods updated in place at least 3 x as fast as Deployment does", rollout, inPlace, deployment, updateTime, 3),
		faster(r, "20 pods with containers updated in place at least 3 x as fast as a Deployment with the same budget does", realUpdate, inPlace, noSurge, updateTime, 3),
		kept(r, "an update in place keeps the addresses of all 20 pods", 20),
		remaining(r, "15 of 20 pods, as maxUnavailable says, remain available during an update in place", 15),
		compare(r, "with 1000 x 10 pods at most half of the peer's memory (RSS after a minute)", figure{idle, ours, memory},
			figure{idle, replicaSet, memory}, 0.5, "%.0f MB, peer %.0f MB", mega),
		below(r, "first useful sync within 10 s of the start with 1000 x 10 pods", figure{restart, ours, startTime}, 10, "%.2f s"),
		compare(r, "first useful sync after at most 1.2 x the peer's time with 1000 x 10 pods", figure{restart, ours, startTime},
			figure{restart, replicaSet, startTime}, 1.2, "%.2f s, peer %.2f s", 1),
		grown(r, "10 000 pods of other people beside 100 of ours cost at most 3 MB", figure{alone, ours, memory}, figure{crowd, ours, memory}, 3),
		below(r, "5000 updates of other people's pods cost at most 0.1 s of CPU", figure{crowd, ours, cpuTime}, 0.1, "%.2f s"),
		grown(r, "100 000 events cost a standby at most 5 MB", figure{standbyBefore, ours, memory}, figure{standby, ours, memory}, 5),
		below(r, "the planner takes under 1 ms for 1000 pods at rest", figure{steadyThousand, ours, planMillis}, 1, "%.2f ms"),
		below(r, "no write in an idle minute with 1000 x 10 pods", figure{idle, ours, writes}, 0, "%.0f writes"),
		flat(r, "a change costs at most 1.5 x as much CPU in the largest cluster as in the smallest", cpuMillis, 1.5),
		flat(r, "a sync takes at most 1.5 x as long in the largest cluster as in the smallest", syncMillis, 1.5),
		shared(r, "with 50 000 pods (computed from fewer), each of N replicas that share the work has at most 1/N + 15 % of the memory of one", ofMany(memory)),
		shared(r, "the same, without the pages of the program, which replicas on one machine share", ofMany(memoryOwn)),
		shared(r, "each of N reads at most 1/N + 15 % of what one alone reads for updates of pods", ofReplicas(received)),
		shared(r, "each of N hears of at most 1/N + 15 % of the updates that one alone hears of", ofReplicas(heard)),
		faster(r, "4 replicas make pods at least 3.2 x as fast as one with the same limit of requests", sharedMaking, replicasName(4), replicasName(1), existTime, 3.2),
	}
}

// figure says where a number is found.
type figure struct {
	workload, contender string
	metric              metric
}

func (f figure) of(r results) (float64, bool) { return r.median(f.workload, f.contender, f.metric) }

// faster wants one time to be that many times as short as another.
func faster(r results, want, workload, who, than string, time metric, times float64) goal {
	own, measured := figure{workload, who, time}.of(r)
	other, comparable := figure{workload, than, time}.of(r)
	if !measured || !comparable {
		return goal{Want: want}
	}
	return goal{Want: want, Got: fmt.Sprintf("%.2f s, %s %.2f s: %.2f x", own, than, other, other/own), Reached: other >= times*own}
}

// compare wants one figure to be at most a share of another.
func compare(r results, want string, own, other figure, share float64, format string, unit float64) goal {
	a, measured := own.of(r)
	b, comparable := other.of(r)
	if !measured || !comparable {
		return goal{Want: want}
	}
	got := fmt.Sprintf(format, a/unit, b/unit)
	if b > 0 {
		got += fmt.Sprintf(": %.2f x", a/b)
	}
	return goal{Want: want, Got: got, Reached: a <= share*b}
}

// below wants a figure to be at most so much.
func below(r results, want string, own figure, most float64, format string) goal {
	value, measured := own.of(r)
	if !measured {
		return goal{Want: want}
	}
	return goal{Want: want, Got: fmt.Sprintf(format, value), Reached: value <= most}
}

// kept wants an update in place to keep so many addresses, in every round.
func kept(r results, want string, addresses float64) goal {
	own, _, measured := r.extremes(realUpdate, inPlace, addressesKept)
	_, other, comparable := r.extremes(realUpdate, deployment, addressesKept)
	if !measured || !comparable {
		return goal{Want: want}
	}
	pods, _ := figure{realUpdate, inPlace, podCount}.of(r)
	return goal{Want: want, Got: fmt.Sprintf("%.0f of %.0f, %s %.0f of %.0f", own, pods, deployment, other, pods), Reached: own >= addresses}
}

// remaining wants so many pods to be available at all times of an update in place, in every round.
func remaining(r results, want string, pods float64) goal {
	least, _, measured := r.extremes(realUpdate, inPlace, leastAvailable)
	if !measured {
		return goal{Want: want}
	}
	return goal{Want: want, Got: fmt.Sprintf("at least %.0f", least), Reached: least >= pods}
}

// grown wants a size to have grown by at most so many megabytes.
func grown(r results, want string, from, to figure, most float64) goal {
	before, measured := from.of(r)
	after, comparable := to.of(r)
	if !measured || !comparable {
		return goal{Want: want}
	}
	growth := (after - before) / mega
	return goal{Want: want, Got: fmt.Sprintf("%.1f MB, then %.1f MB: %+.1f MB", before/mega, after/mega, growth), Reached: growth <= most}
}

// flat wants a figure not to grow with the cluster.
func flat(r results, want string, m metric, most float64) goal {
	sizes := r.withPrefix(growth)
	if len(sizes) < 2 {
		return goal{Want: want}
	}
	first, last := sizes[0], sizes[len(sizes)-1]
	least, _ := first.median(m)
	value, _ := last.median(m)
	return goal{
		Want: want, Got: fmt.Sprintf("%.2f ms with %s, %.2f ms with %s: %.2f x", least, first.Title, value, last.Title, value/least),
		Reached: value <= most*least,
	}
}

// shared wants each of several replicas to have about its part of what one alone has.
func shared(r results, want string, of func(r results, replicas int) (float64, bool)) goal {
	one, measured := of(r, 1)
	g := goal{Want: want, Reached: true}
	var parts []string
	for _, count := range replicaCounts[1:] {
		most, comparable := of(r, count)
		if !measured || !comparable {
			return goal{Want: want}
		}
		g.Reached = g.Reached && most/one <= 1/float64(count)+0.15
		parts = append(parts, fmt.Sprintf("N = %d: %.0f %%", count, 100*most/one))
	}
	g.Got = strings.Join(parts, ", ")
	return g
}

// ofReplicas is a figure of the replica that has the most.
func ofReplicas(m metric) func(r results, replicas int) (float64, bool) {
	return func(r results, replicas int) (float64, bool) {
		return figure{sharedCaches, replicasName(replicas), m}.of(r)
	}
}

// manyPods is how many pods the goal about memory is about.
const manyPods = 50_000

// ofMany is the memory of the largest replica with very many pods: what it has without any, and as much for each pod as was measured.
func ofMany(m metric) func(r results, replicas int) (float64, bool) {
	return func(r results, replicas int) (float64, bool) {
		empty, measured := figure{sharedNothing, replicasName(replicas), m}.of(r)
		full, _ := figure{sharedCaches, replicasName(replicas), m}.of(r)
		pods, comparable := figure{sharedCaches, replicasName(replicas), podCount}.of(r)
		if !measured || !comparable || pods == 0 {
			return 0, false
		}
		return empty + (full-empty)*manyPods/pods, true
	}
}
