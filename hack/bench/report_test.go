package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// measured are results in which all goals are reached.
func measured() results {
	var r results
	put := func(workload, title, contender string, values map[metric]float64) {
		r.add(workload, title, contender, sample{Values: values, Requests: requestCounts{"create pods": 1000}})
	}
	put(createOne, "1 x 1000", ours, map[metric]float64{existTime: 4, readyTime: 8, statusWrites: 10, cpuTime: 1, writes: 1010, peak: 50 * mega})
	put(createOne, "1 x 1000", replicaSet, map[metric]float64{existTime: 5, readyTime: 9, statusWrites: 300, cpuTime: 2, writes: 1300, peak: 100 * mega})
	put(createOne, "1 x 1000", limit, map[metric]float64{existTime: 3.8})
	put(createTens, "100 x 10", ours, map[metric]float64{existTime: 4, readyTime: 8})
	put(createTens, "100 x 10", replicaSet, map[metric]float64{existTime: 6, readyTime: 8})
	put(createSingles, "1000 x 1", ours, map[metric]float64{existTime: 6, readyTime: 10, writesEach: 3.2, statusWritesEach: 1.1, laterWritesEach: 2, liveReads: 0})
	put(createSingles, "1000 x 1", replicaSet, map[metric]float64{existTime: 6, readyTime: 10})
	put(createSingles, "1000 x 1", deployment, map[metric]float64{existTime: 9, readyTime: 15})
	put(rollout, "update 200", inPlace, map[metric]float64{updateTime: 2})
	put(rollout, "update 200", deployment, map[metric]float64{updateTime: 6})
	onNode := func(contender string, ready, update, oldGone, least, most, kept float64) {
		put(realCreate, "1 x 20 on a real node", contender, map[metric]float64{existTime: 1, readyTime: ready})
		put(realUpdate, "update 20 on a real node", contender, map[metric]float64{
			updateTime: update, oldGoneTime: oldGone, podCount: 20, leastAvailable: least, mostPods: most, addressesKept: kept})
	}
	onNode(inPlace, 8, 6, 6, 15, 20, 20)
	onNode(noSurge, 10, 18, 20, 15, 20, 0)
	onNode(deployment, 10, 12, 14, 16, 25, 0)
	put(restart, "restart", ours, map[metric]float64{startTime: 2.4})
	put(restart, "restart", replicaSet, map[metric]float64{startTime: 2})
	put(alone, "10 x 10 alone", ours, map[metric]float64{memory: 30 * mega})
	put(crowd, "10 x 10 among 10000 others", ours, map[metric]float64{memory: 33 * mega, cpuTime: 0.1})
	put(standbyBefore, "standby after 5000 events", ours, map[metric]float64{memory: 40 * mega})
	put(standby, "standby after 100000 events", ours, map[metric]float64{memory: 45 * mega})
	put(idle, "idle", ours, map[metric]float64{memory: 60 * mega, writes: 0})
	put(idle, "idle", replicaSet, map[metric]float64{memory: 200 * mega})
	put(steadyThousand, "steady/pods=1000", ours, map[metric]float64{planMillis: 0.5})
	put(growth+"1000 pods", "1000 pods", ours, map[metric]float64{cpuMillis: 2, syncMillis: 10})
	put(growth+"50000 pods", "50000 pods", ours, map[metric]float64{cpuMillis: 2.5, syncMillis: 12})
	put(applying+"create 500", "create 500", untried, map[metric]float64{applyMedian: 10, applyLast: 30})
	put(applying+"create 500", "create 500", trying, map[metric]float64{applyMedian: 14.5, applyLast: 41, trialCount: 500, warningCount: 3})
	for _, count := range replicaCounts {
		part := 1/float64(count) + 0.14
		if count == 1 {
			part = 1
		}
		put(sharedNothing, "empty", replicasName(count), map[metric]float64{memory: 0.1 * mega, memoryOwn: 0.1 * mega})
		put(sharedCaches, "caches", replicasName(count), map[metric]float64{
			memory: 100 * part * mega, memoryMean: 50 * mega, memoryOwn: 80 * part * mega, received: part * mega, heard: 1000 * part, podCount: 20_000})
		put(sharedMaking, "throughput", replicasName(count), map[metric]float64{existTime: 32 / (0.8*float64(count) + 0.2), podCount: 320})
	}
	return r
}

func TestGoals(t *testing.T) {
	for _, g := range goals(measured()) {
		if g.verdict() != "reached" {
			t.Errorf("%s: %s, %s", g.Want, g.verdict(), g.Got)
		}
	}
	for _, g := range goals(nil) {
		if g.verdict() != "not measured" {
			t.Errorf("nothing measured: %s: %s", g.Want, g.verdict())
		}
	}
}

func TestMissedGoals(t *testing.T) {
	tests := map[string]struct {
		workload, contender string
		metric              metric
		value               float64
		goal                string
	}{
		"creates":         {createOne, ours, existTime, 5.1, "at least as fast as ReplicaSet's"},
		"tens":            {createTens, ours, existTime, 4.1, "100 x 10 pods exist at least 1.5 x"},
		"tens ready":      {createTens, ours, readyTime, 8.1, "100 x 10 pods are Ready"},
		"singles":         {createSingles, replicaSet, existTime, 5.9, "1000 x 1 pods exist at least as fast as ReplicaSets'"},
		"singles ready":   {createSingles, replicaSet, readyTime, 9.9, "1000 x 1 pods are Ready at least as fast as ReplicaSets'"},
		"Deployments":     {createSingles, deployment, existTime, 8.9, "exist at least 1.5 x as fast as Deployments'"},
		"ready":           {createSingles, deployment, readyTime, 14.9, "are Ready at least 1.5 x as fast as Deployments'"},
		"writes each":     {createSingles, ours, writesEach, 3.3, "3.2 writes"},
		"statuses each":   {createSingles, ours, statusWritesEach, 1.2, "1.1 status writes"},
		"writes later":    {createSingles, ours, laterWritesEach, 2.1, "2 more writes"},
		"live reads":      {createSingles, ours, liveReads, 1, "live reads"},
		"peer's start":    {restart, ours, startTime, 2.5, "1.2 x the peer's"},
		"crowd":           {crowd, ours, memory, 33.1 * mega, "other people beside"},
		"CPU for a crowd": {crowd, ours, cpuTime, 0.11, "updates of other people's"},
		"standby":         {standby, ours, memory, 45.1 * mega, "standby"},
		"limit":           {createOne, ours, existTime, 4.3, "90 %"},
		"status writes":   {createOne, ours, statusWrites, 61, "fifth"},
		"in place":        {rollout, inPlace, updateTime, 2.1, "in place"},
		"real node":       {realUpdate, inPlace, updateTime, 6.1, "20 pods with containers"},
		"addresses":       {realUpdate, inPlace, addressesKept, 19, "addresses"},
		"budget":          {realUpdate, inPlace, leastAvailable, 14, "remain available"},
		"memory":          {idle, ours, memory, 101 * mega, "half"},
		"start":           {restart, ours, startTime, 10.1, "10 s"},
		"planner":         {steadyThousand, ours, planMillis, 1.1, "planner"},
		"idle":            {idle, ours, writes, 1, "idle"},
		"CPU of a change": {growth + "50000 pods", ours, cpuMillis, 3.1, "CPU"},
		"caches":          {sharedCaches, replicasName(8), memory, 28 * mega, "of the memory of one"},
		"own memory":      {sharedCaches, replicasName(4), memoryOwn, 33 * mega, "without the pages"},
		"traffic":         {sharedCaches, replicasName(2), received, 0.66 * mega, "of N reads"},
		"pod events":      {sharedCaches, replicasName(4), heard, 401, "of N hears"},
		"throughput":      {sharedMaking, replicasName(4), existTime, 10.1, "4 replicas make pods"},
		"sync":            {growth + "50000 pods", ours, syncMillis, 15.1, "a sync takes"},
	}
	for name, test := range tests {
		r := measured()
		r.find(test.workload, test.contender).Samples[0].Values[test.metric] = test.value
		missed := false
		for _, g := range goals(r) {
			missed = missed || (strings.Contains(g.Want, test.goal) && g.verdict() == "missed")
		}
		if !missed {
			t.Errorf("%s: the goal is not missed", name)
		}
	}
}

func TestReport(t *testing.T) {
	folder := t.TempDir()
	r := report{Scale: 0.5, Rounds: 3, Workers: 32, Results: measured(), Machine: machine{Cores: 2, Busy: 0.3}, Flags: []string{"-workers", "9"}}
	if err := r.write(folder); err != nil {
		t.Fatal(err)
	}
	if r.missed() != 0 {
		t.Errorf("%d goals are missed", r.missed())
	}
	page, err := os.ReadFile(filepath.Join(folder, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 1 x 1000: pods exist | PodManager | 4.00 | 1.25 | 0.95 | 8.00 | 1.12 |",
		"| 1000 x 1: pods exist | Deployment | 9.00 | 0.67 |  | 15.00 | 0.67 |",
		"| 1000 x 1 | 3.20 | 1.10 | 2.00 |  | 0.00 |",
		"| reached | 40.0 MB, then 45.0 MB: +5.0 MB |",
		"| update 200: pods are updated and Ready | PodManager, in place | 2.00 | 3.00 |  |",
		"| update 20 on a real node: pods are updated and Ready | PodManager, in place | 6.00 | 2.00 |  |",
		"| PodManager, in place | 20 | 8.00 | 8.00 to 8.00 | 1.25 | 6.00 | 6.00 to 6.00 | 2.00 | 6.00 | 15 of 20 | 20 | 20 of 20 |",
		"| Deployment, no surge | 20 | 10.00 | 10.00 to 10.00 | 1.00 | 18.00 | 18.00 to 18.00 | 0.67 | 20.00 | 15 of 20 | 20 | 0 of 20 |",
		"| Deployment | 20 | 10.00 | 10.00 to 10.00 | 1.00 | 12.00 | 12.00 to 12.00 | 1.00 | 14.00 | 16 of 20 | 25 | 0 of 20 |",
		"| reached | 20 of 20, Deployment 0 of 20 |", "| reached | at least 15 |", "workload real-node is a real one",
		"| create 500 | 10.0 | 30.0 | 14.5 | 41.0 | 4.5 | 11.0 | 500 | 3 |",
		"| 4 | 0 | 20000 | 39 | 50 | 0.39 | 97 | 0.39 | 78 | 0.39 | 0.39 | 0.39 | 390 | 0.39 | 320 | 9.41 | 3.40 |",
		"1000 create pods", "no container runs", "scale 0.5", "32 at a time", "-workers 9", "THE MACHINE WAS BUSY",
		"| 1 x 1000 pods exist at least as fast as ReplicaSet's | reached | 4.00 s, ReplicaSet 5.00 s: 1.25 x |",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is not in the report:\n%s", want, page)
		}
	}
	checkMarkdown(t, string(page))
	data, err := os.ReadFile(filepath.Join(folder, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(data, &back); err != nil || len(back.Results) != len(r.Results) {
		t.Errorf("the JSON has %d results, %v", len(back.Results), err)
	}
	if !strings.Contains(r.text(), "Side by side") {
		t.Errorf("the text is\n%s", r.text())
	}
}

// checkMarkdown wants all rows of a table to have as many cells.
func checkMarkdown(t *testing.T, page string) {
	t.Helper()
	cells := 0
	for line := range strings.Lines(page) {
		switch now := strings.Count(line, "|"); {
		case !strings.HasPrefix(line, "|"):
			cells = 0
		case cells == 0:
			cells = now
		case cells != now:
			t.Errorf("%d bars instead of %d: %s", now, cells, line)
		}
	}
}

func TestEmptyReport(t *testing.T) {
	r := report{Scale: 1, Rounds: 1, LeftOut: []string{"real-node"}}
	if err := r.write(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"not measured", "real-node is left out: it needs NODE=real"} {
		if !strings.Contains(r.text(), want) {
			t.Errorf("%q is not in the text:\n%s", want, r.text())
		}
	}
}

func TestPlot(t *testing.T) {
	for name, r := range map[string]results{"full": measured(), "empty": nil} {
		svg := plot(r)
		for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v:\n%s", name, err, svg)
			}
		}
	}
	svg := plot(measured())
	for _, want := range []string{"1 x 1000, PodManager<", ">1.25<", "1 x 1000 until Ready, PodManager<", "in place", "status writes", ">0.03<", `class="limit"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is not in the plot:\n%s", want, svg)
		}
	}
	if escaped("<a & b>") != "&lt;a &amp; b&gt;" {
		t.Error("not escaped")
	}
}
