package main

import "fmt"

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
		faster(r, "1 x 1000 pods exist at 90 % of the speed of bare requests, or more", createOne, ours, limit, existTime, 0.9),
		compare(r, "at most a fifth of ReplicaSet's status writes for 1 x 1000", figure{createOne, ours, statusWrites},
			figure{createOne, replicaSet, statusWrites}, 0.2, "%.0f, ReplicaSet %.0f", 1),
		faster(r, "200 pods updated in place at least 3 x as fast as Deployment does", rollout, inPlace, deployment, updateTime, 3),
		compare(r, "with 1000 x 10 pods at most half of the peer's memory (RSS after a minute)", figure{idle, ours, memory},
			figure{idle, replicaSet, memory}, 0.5, "%.0f MB, peer %.0f MB", mega),
		below(r, "first useful sync within 10 s of the start with 1000 x 10 pods", figure{restart, ours, startTime}, 10, "%.2f s"),
		below(r, "the planner takes under 1 ms for 1000 pods at rest", figure{steadyThousand, ours, planMillis}, 1, "%.2f ms"),
		below(r, "no write in an idle minute with 1000 x 10 pods", figure{idle, ours, writes}, 0, "%.0f writes"),
		flat(r, "a change costs at most 1.5 x as much CPU in the largest cluster as in the smallest", cpuMillis, 1.5),
		flat(r, "a sync takes at most 1.5 x as long in the largest cluster as in the smallest", syncMillis, 1.5),
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
	got := fmt.Sprintf("%.2f s, %s %.2f s: %.2f x", own, than, other, other/own)
	if ready, found := (figure{workload, who, readyTime}).of(r); found {
		otherReady, _ := figure{workload, than, readyTime}.of(r)
		got += fmt.Sprintf(" (until Ready %.2f s and %.2f s)", ready, otherReady)
	}
	return goal{Want: want, Got: got, Reached: other >= times*own}
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
