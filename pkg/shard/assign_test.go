package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// group are replicas that all have the same view, and do at once what Assign says.
type group struct {
	View
	moves []int // of each shard
	clock time.Time
}

func newGroup(count int) *group {
	return &group{View: View{Holders: make([]string, count)}, moves: make([]int, count), clock: time.Unix(0, 0)}
}

func (g *group) join(identity, version string) {
	g.clock = g.clock.Add(time.Second)
	g.Members = append(g.Members, Member{Identity: identity, Version: version, Since: g.clock})
}

func (g *group) leave(identity string) {
	g.Members = slices.DeleteFunc(g.Members, func(m Member) bool { return m.Identity == identity })
	for i, holder := range g.Holders {
		if holder == identity {
			g.Holders[i] = ""
		}
	}
}

// settle carries out assignments until nothing changes, and returns how many rounds that took.
func (g *group) settle(t *testing.T) int {
	t.Helper()
	for round := range 100 {
		assigned := g.Assign()
		if slices.Equal(assigned, g.Holders) {
			return round
		}
		g.checkRound(t, assigned)
		for i := range assigned {
			if assigned[i] != g.Holders[i] {
				g.moves[i]++
			}
		}
		g.Holders = assigned
	}
	t.Fatalf("no end: %v", g.Holders)
	return 0
}

// checkRound: each replica takes at most one shard from others at a time.
func (g *group) checkRound(t *testing.T, assigned []string) {
	t.Helper()
	taken := map[string]int{}
	for i := range assigned {
		if g.Holders[i] != "" && assigned[i] != g.Holders[i] {
			taken[assigned[i]]++
		}
	}
	for identity, count := range taken {
		if count > 1 {
			t.Errorf("%s takes %d shards from others at a time", identity, count)
		}
	}
}

func (g *group) loads() []int {
	loads := map[string]int{}
	for _, member := range g.Members {
		loads[member.Identity] = 0
	}
	for _, holder := range g.Holders {
		loads[holder]++
	}
	var counts []int
	for _, count := range loads {
		counts = append(counts, count)
	}
	slices.Sort(counts)
	return counts
}

func TestAssign(t *testing.T) {
	g := newGroup(16)
	if g.settle(t); !slices.Equal(g.Holders, make([]string, 16)) {
		t.Fatalf("nobody is there, and %v hold shards", g.Holders)
	}
	steps := []struct {
		do    func()
		loads []int
		moves int
	}{
		{func() { g.join("a", "1") }, []int{16}, 16},
		{func() { g.join("b", "1") }, []int{8, 8}, 8},
		{func() { g.join("c", "1") }, []int{5, 5, 6}, 5},
		{func() { g.leave("a") }, []int{8, 8}, 6},
		{func() { g.join("d", "1"); g.join("e", "1"); g.join("f", "1") }, []int{3, 3, 3, 3, 4}, 9},
		{func() { g.leave("d"); g.leave("e"); g.leave("f") }, []int{8, 8}, 9},
	}
	for i, step := range steps {
		clear(g.moves)
		step.do()
		g.settle(t)
		moves := 0
		for _, count := range g.moves {
			moves += count
		}
		if got := g.loads(); !slices.Equal(got, step.loads) || moves > step.moves+1 {
			t.Errorf("step %d: %v after %d moves, want %v after %d", i, got, moves, step.loads, step.moves)
		}
	}
}

// A rolling restart moves each shard once if a new replica comes before an old one goes. Otherwise old replicas have to help out.
func TestRollingRestart(t *testing.T) {
	for _, isSurging := range []bool{true, false} {
		g := newGroup(16)
		for i := range 3 {
			g.join(fmt.Sprint("old-", i), "1")
		}
		g.settle(t)
		clear(g.moves)
		for i := range 3 {
			if isSurging {
				g.join(fmt.Sprint("new-", i), "2")
				g.settle(t)
			}
			g.leave(fmt.Sprint("old-", i))
			if g.settle(t); !isSurging {
				g.join(fmt.Sprint("new-", i), "2")
				g.settle(t)
			}
		}
		most := slices.Max(g.moves)
		if isSurging && most > 1 || most > 3 {
			t.Errorf("surging %v: a shard has moved %d times: %v", isSurging, most, g.moves)
		}
		if loads := g.loads(); loads[2]-loads[0] > 1 {
			t.Errorf("surging %v: loads %v", isSurging, loads)
		}
	}
}

// A holder that is not among the living keeps its shard: only the Lease tells when the shard is free.
func TestHolderThatIsNotListed(t *testing.T) {
	view := View{Members: []Member{{Identity: "a"}}, Holders: []string{"ghost", "", "a", "ghost"}}
	if got := view.Assign(); !slices.Equal(got, []string{"ghost", "a", "a", "ghost"}) {
		t.Errorf("assigned %v", got)
	}
}

// Whatever happens, all who see the same decide the same, every shard has somebody in the end, and nobody has two more than another.
func TestAssignProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		g := newGroup(1 + random.IntN(64))
		for step := range 20 {
			if len(g.Members) < 2 || random.IntN(2) == 0 {
				g.join(fmt.Sprint("r", step), fmt.Sprint(random.IntN(2)))
			} else {
				g.leave(g.Members[random.IntN(len(g.Members))].Identity)
			}
			other := View{Members: slices.Clone(g.Members), Holders: slices.Clone(g.Holders)}
			random.Shuffle(len(other.Members), func(i, j int) {
				other.Members[i], other.Members[j] = other.Members[j], other.Members[i]
			})
			if a, b := g.Assign(), other.Assign(); !slices.Equal(a, b) {
				t.Fatalf("two replicas with the same view decide %v and %v", a, b)
			}
			g.settle(t)
			if slices.Contains(g.Holders, "") {
				t.Fatalf("a shard has nobody: %v", g.Holders)
			}
			if _, isRolling := g.candidates(); !isRolling {
				if loads := g.loads(); loads[len(loads)-1]-loads[0] > 1 {
					t.Fatalf("loads %v", loads)
				}
			}
		}
	}
}
