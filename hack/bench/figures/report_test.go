package figures

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/bench/paper"
)

// measured returns results in which all goals are reached.
func measured() Results {
	var r Results
	put := func(workload, title, contender string, values Values) {
		r.Add(workload, title, contender, Sample{Values: values, Requests: map[string]int{"create pods": 1000}})
	}
	put(CreateOne, "1 x 1000", Ours, Values{ExistTime: 4, ReadyTime: 8, StatusWrites: 10, CPUTime: 1, Writes: 1010, PeakMemory: 50 * MB})
	put(CreateOne, "1 x 1000", ReplicaSet, Values{ExistTime: 5, ReadyTime: 9, StatusWrites: 300, CPUTime: 2, Writes: 1300, PeakMemory: 100 * MB})
	put(CreateOne, "1 x 1000", Limit, Values{ExistTime: 3.8})
	put(CreateTens, "100 x 10", Ours, Values{ExistTime: 4, ReadyTime: 8})
	put(CreateTens, "100 x 10", ReplicaSet, Values{ExistTime: 6, ReadyTime: 8})
	put(CreateSingles, "1000 x 1", Ours, Values{ExistTime: 6, ReadyTime: 10, WritesEach: 3.2, StatusWritesEach: 1.1, LaterWritesEach: 2, LiveReads: 0})
	put(CreateSingles, "1000 x 1", ReplicaSet, Values{ExistTime: 6, ReadyTime: 10})
	put(CreateSingles, "1000 x 1", Deployment, Values{ExistTime: 9, ReadyTime: 15})
	put(Rollout, "update 200", InPlace, Values{UpdateTime: 2})
	put(Rollout, "update 200", Deployment, Values{UpdateTime: 6})
	onNode := func(contender string, ready, update, oldGone, least, most, kept float64) {
		put(RealCreate, "1 x 20 on a real node", contender, Values{ExistTime: 1, ReadyTime: ready})
		put(RealUpdate, "update 20 on a real node", contender, Values{
			UpdateTime: update, OldGoneTime: oldGone, PodCount: 20, LeastAvailable: least, MostPods: most, AddressesKept: kept})
	}
	onNode(InPlace, 8, 6, 6, 15, 20, 20)
	onNode(NoSurge, 10, 18, 20, 15, 20, 0)
	onNode(Deployment, 10, 12, 14, 16, 25, 0)
	put(Restart, "restart", Ours, Values{StartTime: 2.4})
	put(Restart, "restart", ReplicaSet, Values{StartTime: 2})
	put(Alone, "10 x 10 alone", Ours, Values{Memory: 30 * MB})
	put(Crowd, "10 x 10 among 10000 others", Ours, Values{Memory: 33 * MB, CPUTime: 0.1})
	put(FewNodes, "1 x 10, and 0 more nodes", Ours, Values{Memory: 30 * MB})
	put(ManyNodes, "1 x 10, and 5000 more nodes", Ours, Values{Memory: 60 * MB, CPUTime: 0.2})
	put(StandbyBefore, "standby after 5000 events", Ours, Values{Memory: 40 * MB})
	put(Standby, "standby after 100000 events", Ours, Values{Memory: 45 * MB})
	put(Idle, "idle", Ours, Values{Memory: 60 * MB, Writes: 0})
	put(Idle, "idle", ReplicaSet, Values{Memory: 200 * MB})
	put(SteadyThousand, "steady/pods=1000", Ours, Values{PlanMillis: 0.5})
	put(Growth+"1000 pods", "1000 pods", Ours, Values{CPUMillis: 2, SyncMillis: 10})
	put(Growth+"50000 pods", "50000 pods", Ours, Values{CPUMillis: 2.5, SyncMillis: 12})
	put(Applying+"create 500", "create 500", Untried, Values{ApplyMedian: 10, ApplyLast: 30})
	put(Applying+"create 500", "create 500", Trying, Values{ApplyMedian: 14.5, ApplyLast: 41, TrialCount: 500, WarningCount: 3})
	for _, count := range ReplicaCounts {
		part := 1/float64(count) + 0.14
		if count == 1 {
			part = 1
		}
		put(SharedNothing, "empty", ReplicasName(count), Values{Memory: 0.1 * MB, MemoryOwn: 0.1 * MB})
		put(SharedCaches, "caches", ReplicasName(count), Values{
			Memory: 100 * part * MB, MemoryMean: 50 * MB, MemoryOwn: 80 * part * MB, Received: part * MB, PodEvents: 1000 * part, PodCount: 20_000})
		put(SharedMaking, "throughput", ReplicasName(count), Values{ExistTime: 32 / (0.8*float64(count) + 0.2), PodCount: 320})
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
		metric              Metric
		value               float64
		goal                string
	}{
		"creates":         {CreateOne, Ours, ExistTime, 5.1, "at least as fast as ReplicaSet's"},
		"tens":            {CreateTens, Ours, ExistTime, 4.1, "100 x 10 pods exist at least 1.5 x"},
		"tens ready":      {CreateTens, Ours, ReadyTime, 8.1, "100 x 10 pods are Ready"},
		"singles":         {CreateSingles, ReplicaSet, ExistTime, 5.9, "1000 x 1 pods exist at least as fast as ReplicaSets'"},
		"singles ready":   {CreateSingles, ReplicaSet, ReadyTime, 9.9, "1000 x 1 pods are Ready at least as fast as ReplicaSets'"},
		"Deployments":     {CreateSingles, Deployment, ExistTime, 8.9, "exist at least 1.5 x as fast as Deployments'"},
		"ready":           {CreateSingles, Deployment, ReadyTime, 14.9, "are Ready at least 1.5 x as fast as Deployments'"},
		"writes each":     {CreateSingles, Ours, WritesEach, 3.3, "3.2 writes"},
		"statuses each":   {CreateSingles, Ours, StatusWritesEach, 1.2, "1.1 status writes"},
		"writes later":    {CreateSingles, Ours, LaterWritesEach, 2.1, "2 more writes"},
		"live reads":      {CreateSingles, Ours, LiveReads, 1, "live reads"},
		"peer's start":    {Restart, Ours, StartTime, 2.5, "1.2 x the peer's"},
		"crowd":           {Crowd, Ours, Memory, 33.1 * MB, "other owners next to"},
		"CPU for a crowd": {Crowd, Ours, CPUTime, 0.11, "updates of other owners'"},
		"nodes":           {ManyNodes, Ours, Memory, 60.1 * MB, "watching 5000 nodes"},
		"CPU for nodes":   {ManyNodes, Ours, CPUTime, 0.21, "kubelets report"},
		"standby":         {Standby, Ours, Memory, 45.1 * MB, "standby"},
		"limit":           {CreateOne, Ours, ExistTime, 4.3, "90 %"},
		"status writes":   {CreateOne, Ours, StatusWrites, 61, "fifth"},
		"in place":        {Rollout, InPlace, UpdateTime, 2.1, "in place"},
		"real node":       {RealUpdate, InPlace, UpdateTime, 6.1, "20 pods with containers"},
		"addresses":       {RealUpdate, InPlace, AddressesKept, 19, "addresses"},
		"budget":          {RealUpdate, InPlace, LeastAvailable, 14, "remain available"},
		"memory":          {Idle, Ours, Memory, 101 * MB, "half"},
		"start":           {Restart, Ours, StartTime, 10.1, "10 s"},
		"planner":         {SteadyThousand, Ours, PlanMillis, 1.1, "planner"},
		"idle":            {Idle, Ours, Writes, 1, "idle"},
		"CPU of a change": {Growth + "50000 pods", Ours, CPUMillis, 3.1, "CPU"},
		"caches":          {SharedCaches, ReplicasName(8), Memory, 28 * MB, "of the memory of one"},
		"own memory":      {SharedCaches, ReplicasName(4), MemoryOwn, 33 * MB, "without the pages"},
		"traffic":         {SharedCaches, ReplicasName(2), Received, 0.66 * MB, "of N replicas reads"},
		"pod events":      {SharedCaches, ReplicasName(4), PodEvents, 401, "of N replicas receives"},
		"throughput":      {SharedMaking, ReplicasName(4), ExistTime, 10.1, "4 replicas make pods"},
		"sync":            {Growth + "50000 pods", Ours, SyncMillis, 15.1, "a sync takes"},
	}
	for name, test := range tests {
		r := measured()
		r.Find(test.workload, test.contender).Samples[0].Values[test.metric] = test.value
		missed := false
		for _, g := range goals(r) {
			missed = missed || (strings.Contains(g.Want, test.goal) && g.verdict() == "missed")
		}
		if !missed {
			t.Errorf("%s: the goal is reached, want it to be missed", name)
		}
	}
}

func TestReport(t *testing.T) {
	folder := t.TempDir()
	r := Report{Scale: 0.5, Rounds: 3, Workers: 32, Results: measured(), Machine: Machine{Cores: 2, Busy: 0.3}, Flags: []string{"-workers", "9"}}
	if err := r.Write(folder); err != nil {
		t.Fatal(err)
	}
	if r.Missed() != 0 {
		t.Errorf("%d goals are missed", r.Missed())
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
	var back Report
	if err := json.Unmarshal(data, &back); err != nil || len(back.Results) != len(r.Results) {
		t.Errorf("the JSON has %d results, %v", len(back.Results), err)
	}
	if !strings.Contains(r.Text(), "Side by side") {
		t.Errorf("the text is\n%s", r.Text())
	}
}

// checkMarkdown checks that all rows of a table have the same number of cells.
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
			t.Errorf("%d cell separators instead of %d: %s", now, cells, line)
		}
	}
}

func TestEmptyReport(t *testing.T) {
	r := Report{Scale: 1, Rounds: 1, LeftOut: []string{"real-node"}}
	if err := r.Write(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"not measured", "real-node is left out: it needs NODE=real"} {
		if !strings.Contains(r.Text(), want) {
			t.Errorf("%q is not in the text:\n%s", want, r.Text())
		}
	}
}

func TestPaperTable(t *testing.T) {
	r := Report{Paper: &paper.Costs{Pod: 2000, Manager: 8000, Revision: 2000, Wire: 3000}}
	table := r.paperTable()
	if len(table.rows) != 5 || len(table.rows[0]) != len(table.columns) {
		t.Errorf("got %v", table)
	}
}

func TestPlot(t *testing.T) {
	for name, r := range map[string]Results{"full": measured(), "empty": nil} {
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
		t.Error("the text is not escaped")
	}
}
