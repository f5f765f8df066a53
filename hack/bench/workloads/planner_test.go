package workloads

import (
	"math"
	"testing"

	"github.com/mycompany/podmanager/hack/bench/figures"
)

func TestParseBenchmarks(t *testing.T) {
	got := parseBenchmarks(`goos: linux
BenchmarkMake/steady/pods=1000-2         	      70	   7289446 ns/op	 2286509 B/op	   42053 allocs/op
BenchmarkMake/steady/pods=10         	      70	   72.5 ns/op	 0 B/op	   1 allocs/op
PASS`)
	if len(got) != 2 || got[0].name != "steady/pods=1000" || got[1].name != "steady/pods=10" {
		t.Fatalf("got %+v", got)
	}
	if v := got[0].values; math.Abs(v[figures.PlanMillis]-7.289446) > 1e-9 || v[figures.PlanBytes] != 2286509 || v[figures.PlanAllocs] != 42053 {
		t.Errorf("got %v", v)
	}
	if figures.Planning+got[0].name != figures.SteadyThousand {
		t.Errorf("the goal looks for %q", figures.SteadyThousand)
	}
}
