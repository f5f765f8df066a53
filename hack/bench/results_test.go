package main

import (
	"context"
	"errors"
	"math"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
		found  bool
	}{
		{nil, 0, false},
		{[]float64{3}, 3, true},
		{[]float64{9, 1, 2}, 2, true},
		{[]float64{4, 1, 3, 2}, 2.5, true},
	} {
		if got, found := median(test.values); got != test.want || found != test.found {
			t.Errorf("%v: got %v, %v", test.values, got, found)
		}
	}
}

func TestResults(t *testing.T) {
	var r results
	for _, value := range []float64{1, 5, 2} {
		r.add(createOne, "1 x 10", ours, sample{Values: map[metric]float64{existTime: value}, Requests: requestCounts{"create pods": int(value)}})
	}
	r.add(createOne, "1 x 10", replicaSet, sample{Values: map[metric]float64{existTime: 7}})
	if got, found := r.median(createOne, ours, existTime); got != 2 || !found {
		t.Errorf("got %v, %v", got, found)
	}
	if least, most, found := r.extremes(createOne, ours, existTime); least != 1 || most != 5 || !found {
		t.Errorf("from %v to %v, %v", least, most, found)
	}
	for _, workload := range []string{createOne, scaleDown} {
		if _, _, found := r.extremes(workload, ours, cpuTime); found {
			t.Errorf("%s: found extremes of what was not measured", workload)
		}
	}
	if _, found := r.median(createOne, ours, cpuTime); found {
		t.Error("found what was not measured")
	}
	if _, found := r.median(scaleDown, ours, existTime); found {
		t.Error("found a workload that was not run")
	}
	if got := r.find(createOne, ours).requests()["create pods"]; got != 2 {
		t.Errorf("%v creates", got)
	}
}

func TestParseBenchmarks(t *testing.T) {
	got := parseBenchmarks(`goos: linux
BenchmarkMake/steady/pods=1000-2         	      70	   7289446 ns/op	 2286509 B/op	   42053 allocs/op
BenchmarkMake/steady/pods=10         	      70	   72.5 ns/op	 0 B/op	   1 allocs/op
PASS`)
	if len(got) != 2 || got[0].name != "steady/pods=1000" || got[1].name != "steady/pods=10" {
		t.Fatalf("got %+v", got)
	}
	if v := got[0].values; math.Abs(v[planMillis]-7.289446) > 1e-9 || v[planBytes] != 2286509 || v[planAllocs] != 42053 {
		t.Errorf("got %v", v)
	}
	if planning+got[0].name != steadyThousand {
		t.Errorf("the goal looks for %q", steadyThousand)
	}
}

func TestParseCounters(t *testing.T) {
	const metrics = "# HELP x\npodmanager_reconcile_duration_seconds_bucket{le=\"1\"} 5\npodmanager_reconcile_duration_seconds_sum 1.5\n" +
		"podmanager_reconcile_duration_seconds_count 10\n"
	found, err := parseCounters(strings.NewReader(metrics + "podmanager_live_reads_total 3\n"))
	if err != nil || found[syncHistogram+"_sum"] != 1.5 || found[syncHistogram+"_count"] != 10 || found[liveReadsCounter] != 3 || len(found) != 3 {
		t.Fatalf("got %v, %v", found, err)
	}
	if _, err := parseCounters(strings.NewReader(metrics)); err == nil {
		t.Error("no error although a metric is missing")
	}
	if got := sumOf("lost_total", "# HELP lost_total x\nlost_total{a=\"b c\"} 2\nlost_total{a=\"d\"} 3\nlost_total_other{} 5\n"); got != 5 {
		t.Errorf("the sum is %v", got)
	}
	first := syncs{seconds: 1.5, count: 10}
	if got := (syncs{seconds: 2, count: 20}).since(first); got != 50 {
		t.Errorf("a sync takes %v ms", got)
	}
	if got := first.since(first); got != 0 {
		t.Errorf("no sync takes %v ms", got)
	}
}

func TestParseCPU(t *testing.T) {
	got, err := parseCPU("cpu  10 0 20 60 10 0 0 0 5 5\ncpu0 1\n")
	if err != nil || got != (cpuTicks{total: 100, idle: 70}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "cpu 1 2", "intr 1 2 3 4 5 6 7 8 9", "cpu a b c d e f g h"} {
		if _, err := parseCPU(bad); err == nil {
			t.Errorf("%q gives no error", bad)
		}
	}
}

func TestParse(t *testing.T) {
	for arguments, want := range map[string]string{
		"":                   "",
		"-scale 0.05":        "",
		"-scale 0":           "above 0",
		"-scale 2":           "at most 1",
		"-rounds -1":         "at least 1",
		"more":               "only flags",
		"-only (":            "invalid value",
		"-only 1x1000 -keep": "",
	} {
		_, err := parse(strings.Fields(arguments))
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", arguments, err, want)
		}
	}
	small, _ := parse([]string{"-scale", "0.05"})
	full, _ := parse(nil)
	if small.rounds != 1 || full.rounds != 3 {
		t.Errorf("%d and %d rounds", small.rounds, full.rounds)
	}
}

func TestChosen(t *testing.T) {
	for name, test := range map[string]struct {
		only, node      string
		chosen, leftOut int
	}{
		"two of them":         {"^1x1000|growth", "", 2, 0},
		"all":                 {"", "", len(workloads) - 1, 1},
		"all and a real node": {"", "real", len(workloads), 0},
		"without one":         {"real-node", "", 0, 1},
		"with one":            {"real-node", "real", 1, 0},
		"as in make test":     {"planner|1x1000|apply-storm|rollout", "", 4, 0},
	} {
		t.Setenv("NODE", test.node)
		o, err := parse([]string{"-only", test.only})
		if err != nil {
			t.Fatal(err)
		}
		chosen, leftOut := (&bench{options: o}).chosen()
		if len(chosen) != test.chosen || len(leftOut) != test.leftOut {
			t.Errorf("%s: chosen are %v, left out %v", name, chosen, leftOut)
		}
	}
	t.Setenv("NODE", "")
	err := run(t.Context(), options{only: regexp.MustCompile("real-node"), out: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "needs NODE=real") {
		t.Errorf("a workload that cannot be run: %v", err)
	}
}

func TestSizes(t *testing.T) {
	full := sizesAt(1)
	if full.One != 1000 || full.Tens != 100 || full.Singles != 1000 || full.Rollout != 200 || full.RealNode != 20 || full.Managers != 1000 ||
		full.Idle != time.Minute || full.Growth[2] != 50_000 || full.Few*replicasOfMany != 100 || full.Crowd != 10_000 ||
		full.Updates != 5000 || full.Events != 100_000 || full.Grace != time.Minute {
		t.Errorf("at full scale: %+v", full)
	}
	if small := sizesAt(0.0001); small.One < 1 || small.Managers < 1 || small.Starts < 1 || small.RealNode < 4 || small.Growth[0] < 1 || small.Growth[1] <= small.Growth[0] {
		t.Errorf("at the smallest scale: %+v", small)
	}
}

func TestProgress(t *testing.T) {
	p := newProgress([]workload{{estimate: time.Minute}, {estimate: 2 * time.Minute, once: true}}, options{rounds: 3, scale: 1})
	if want := 5*time.Minute + 4*setUpTime; p.remaining() != want {
		t.Errorf("%v left, want %v", p.remaining(), want)
	}
	p.left, p.done, p.took = 10*time.Minute, 10*time.Minute, 20*time.Minute
	if p.remaining() != 20*time.Minute {
		t.Errorf("%v left on a machine that is half as fast", p.remaining())
	}
	if got := clock(125 * time.Second); got != "2:05" {
		t.Errorf("got %s", got)
	}
}

func TestInParallel(t *testing.T) {
	var calls, running, most atomic.Int32
	err := inParallel(t.Context(), 50, 4, func(context.Context, int) error {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		calls.Add(1)
		return nil
	})
	if err != nil || calls.Load() != 50 || most.Load() > 4 {
		t.Errorf("%d calls, %d at a time, %v", calls.Load(), most.Load(), err)
	}
	failure := errors.New("no")
	calls.Store(0)
	err = inParallel(t.Context(), 1000, 2, func(context.Context, int) error {
		calls.Add(1)
		return failure
	})
	if !errors.Is(err, failure) || calls.Load() > 10 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := inParallel(stopped, 10, 2, func(context.Context, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for name, test := range map[string]struct {
		values        []float64
		percent, want float64
	}{
		"the middle":     {hundred, 50, 50},
		"almost all":     {hundred, 99, 99},
		"of few values":  {[]float64{3, 1, 2}, 99, 3},
		"of one":         {[]float64{7}, 50, 7},
		"of two: a half": {[]float64{2, 1}, 50, 1},
	} {
		if got := percentile(test.values, test.percent); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
