package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// group is a set of replicas that all see the same state. One after the other, each carries out at once what Next returns.
type group struct {
	t        *testing.T
	random   *rand.Rand
	leases   []Lease
	replicas []View
	moves    []int // of each shard
}

func newGroup(t *testing.T, count int) *group {
	return &group{t: t, random: rand.New(rand.NewPCG(1, uint64(count))), leases: make([]Lease, count), moves: make([]int, count)}
}

func (g *group) join(replica, version string) {
	g.replicas = append(g.replicas, View{Replica: replica, Version: version, Order: g.random.Perm(len(g.leases)), Leases: g.leases})
}

func (g *group) leave(replica string) {
	g.replicas = slices.DeleteFunc(g.replicas, func(v View) bool { return v.Replica == replica })
	for i, lease := range g.leases {
		if lease.Holder == replica {
			g.leases[i] = Lease{Version: lease.Version}
		}
	}
}

// settle lets time pass, a few milliseconds at a time, until nothing has changed for a while.
func (g *group) settle() {
	g.t.Helper()
	const tick = 4 * time.Millisecond
	for calm := time.Duration(0); calm < spread+reserved; calm += tick {
		for i := range g.leases {
			if g.leases[i].Holder == "" {
				g.leases[i].Free += tick
			}
		}
		for _, i := range g.random.Perm(len(g.replicas)) {
			if g.act(g.replicas[i]) {
				calm = 0
			}
		}
	}
}

// act carries out a replica's next step, and reports whether there was anything to do.
func (g *group) act(v View) bool {
	g.t.Helper()
	step := v.Next()
	for _, i := range step.Take {
		if g.leases[i].Holder != "" {
			g.t.Fatalf("%s takes shard %d, which %s holds", v.Replica, i, g.leases[i].Holder)
		}
		g.leases[i] = Lease{Holder: v.Replica, Version: v.Version}
		g.moves[i]++
	}
	for _, i := range step.GiveUp {
		if g.leases[i].Holder != v.Replica {
			g.t.Fatalf("%s gives up shard %d, which %q holds", v.Replica, i, g.leases[i].Holder)
		}
		g.leases[i].Holder, g.leases[i].Free = "", 0
	}
	if step.Ask >= 0 {
		g.leases[step.Ask].WantedBy = v.Replica
	}
	wanted := slices.DeleteFunc(slices.Clone(g.leases), func(l Lease) bool { return l.WantedBy != v.Replica })
	if len(wanted) > 1 {
		g.t.Fatalf("%s has asked for several shards: %v", v.Replica, wanted)
	}
	return len(step.Take)+len(step.GiveUp) > 0 || step.Ask >= 0
}

func (g *group) loads() []int {
	var counts []int
	for _, v := range g.replicas {
		count := 0
		for _, lease := range g.leases {
			if lease.Holder == v.Replica {
				count++
			}
		}
		counts = append(counts, count)
	}
	slices.Sort(counts)
	return counts
}

func (g *group) moved() (sum int) {
	for _, count := range g.moves {
		sum += count
	}
	return sum
}

// When replicas join and leave, the shards stay evenly distributed, and no more shards move than necessary.
func TestNext(t *testing.T) {
	g := newGroup(t, 16)
	for i, step := range []struct {
		do    func()
		loads []int
		moves int
	}{
		{func() { g.join("a", "1") }, []int{16}, 16},
		{func() { g.join("b", "1") }, []int{8, 8}, 8},
		{func() { g.join("c", "1") }, []int{5, 5, 6}, 5},
		{func() { g.leave("a") }, []int{8, 8}, 6},
		{func() { g.join("d", "1"); g.join("e", "1"); g.join("f", "1") }, []int{3, 3, 3, 3, 4}, 10},
		{func() { g.leave("d"); g.leave("e"); g.leave("f") }, []int{8, 8}, 10},
		{func() { g.leave("b"); g.leave("c"); g.join("x", "1"); g.join("y", "1"); g.join("z", "1") }, []int{5, 5, 6}, 16},
	} {
		clear(g.moves)
		step.do()
		g.settle()
		if got := g.loads(); !slices.Equal(got, step.loads) || g.moved() > step.moves {
			t.Errorf("step %d: the loads are %v after %d moves, want %v after at most %d", i, got, g.moved(), step.loads, step.moves)
		}
	}
}

// In a rolling restart, each shard moves at most once if each new replica joins before an old one leaves. Otherwise shards may first move to other
// old replicas, and so move up to three times.
func TestRollingRestart(t *testing.T) {
	for _, isSurging := range []bool{true, false} {
		g := newGroup(t, 16)
		for i := range 3 {
			g.join(fmt.Sprint("old-", i), "1")
		}
		g.settle()
		clear(g.moves)
		for i := range 3 {
			if isSurging {
				g.join(fmt.Sprint("new-", i), "2")
				g.settle()
			}
			g.leave(fmt.Sprint("old-", i))
			if g.settle(); !isSurging {
				g.join(fmt.Sprint("new-", i), "2")
				g.settle()
			}
		}
		most := slices.Max(g.moves)
		if isSurging && most > 1 || most > 3 {
			t.Errorf("new replicas join first: %v; a shard has moved %d times, the moves are %v", isSurging, most, g.moves)
		}
		if loads := g.loads(); loads[2]-loads[0] > 1 {
			t.Errorf("new replicas join first: %v; the loads are %v", isSurging, loads)
		}
	}
}

func TestSingleSteps(t *testing.T) {
	const second = time.Second
	held, free := func(by string) Lease { return Lease{Holder: by} }, func(since time.Duration) Lease { return Lease{Free: since} }
	tests := map[string]struct {
		leases []Lease
		want   Step
	}{
		"a shard that was just released":  {[]Lease{held("me"), free(0)}, Step{Ask: -1, Wait: spread * 3 / 4}},
		"a shard that is free for long":   {[]Lease{held("me"), free(second)}, Step{Take: []int{1}, Ask: -1}},
		"a Lease that runs out":           {[]Lease{{Holder: "dead", Free: -second}, {Holder: "dead", Free: -second}}, Step{Ask: 0, Wait: second}},
		"one that another has asked for":  {[]Lease{{WantedBy: "other", Free: second / 2}, held("other")}, Step{Ask: -1}},
		"one that this one has asked for": {[]Lease{{WantedBy: "me"}, held("me")}, Step{Take: []int{0}, Ask: -1}},
		"a request":                       {[]Lease{{Holder: "me", WantedBy: "other"}, held("me")}, Step{GiveUp: []int{0}, Ask: -1}},
		"a request that is not fair":      {[]Lease{{Holder: "me", WantedBy: "other"}, held("other")}, Step{Ask: -1}},
		"another version":                 {[]Lease{{Holder: "old", Version: "1"}, {Holder: "old", Version: "1"}}, Step{Ask: -1}},
		"asked already":                   {[]Lease{{Holder: "other", WantedBy: "me"}, held("other"), held("other")}, Step{Ask: -1}},
		"asked by another":                {[]Lease{{Holder: "other", WantedBy: "third"}, held("other"), held("other")}, Step{Ask: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := View{Replica: "me", Leases: test.leases}
			for i := range test.leases {
				v.Order = append(v.Order, i)
			}
			got := v.Next()
			isSame := slices.Equal(got.Take, test.want.Take) && slices.Equal(got.GiveUp, test.want.GiveUp) && got.Ask == test.want.Ask
			if !isSame || test.want.Wait > 0 && got.Wait != test.want.Wait {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// Whatever happens, every shard has a holder in the end. Unless a rollout is in progress, no replica has two shards more than another.
func TestNextProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		g := newGroup(t, 1+random.IntN(64))
		for step := range 10 {
			if len(g.replicas) < 2 || random.IntN(2) == 0 {
				g.join(fmt.Sprint("r", step), fmt.Sprint(random.IntN(2)))
			} else {
				g.leave(g.replicas[random.IntN(len(g.replicas))].Replica)
			}
			g.settle()
			versions := map[string]bool{}
			for _, lease := range g.leases {
				if versions[lease.Version] = true; lease.Holder == "" {
					t.Fatalf("a shard has no holder: %v", g.leases)
				}
			}
			isRolling := slices.ContainsFunc(g.replicas, func(v View) bool { return !versions[v.Version] || len(versions) > 1 })
			if loads := g.loads(); !isRolling && loads[len(loads)-1]-loads[0] > 1 {
				t.Fatalf("the loads are %v, want at most one shard of difference", loads)
			}
		}
	}
}
