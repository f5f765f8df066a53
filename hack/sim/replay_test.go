package sim

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/sim/luck"
)

// TestReplay plays seeds repeatedly: the result must be the same in most tries. SIM_TRIES=100 plays whole courses that many times each, and
// SIM_SEED=5 selects another seed. Seed 2 has shards.
func TestReplay(t *testing.T) {
	if testing.Short() {
		t.Skip("this test checks the simulation, not the controller")
	}
	if !luck.IsKnown() {
		t.Skip("the random choices of this runtime cannot be seeded")
	}
	course, enough := trouble, 95 // of 100
	tries, err := strconv.Atoi(os.Getenv("SIM_TRIES"))
	if err != nil {
		// With shards, about one of six tries differs. Without package luck, no two tries are the same.
		tries, course.Length, enough = 4, 20*time.Second, 50
	}
	course.Traced = true
	seeds := []uint64{1, 2, 7}
	if seed, err := strconv.ParseUint(os.Getenv("SIM_SEED"), 10, 64); err == nil {
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		// By fingerprint. The most frequent course is the reference, because any try may be the one that is disturbed. Nothing else is kept of a course:
		// if memory runs short, the garbage collector disturbs the next one.
		most, counts, traces := uint64(0), map[uint64]int{}, map[uint64][]string{}
		for range tries + 1 {
			c, _ := play(t, seed, course, nil)
			fingerprint := c.story.fingerprint()
			if counts[fingerprint]++; counts[fingerprint] > counts[most] {
				most = fingerprint
			}
			traces[fingerprint] = c.story.trace
		}
		for fingerprint, count := range counts {
			if fingerprint != most {
				was, is := difference(traces[most], traces[fingerprint])
				t.Logf("seed %d: %d courses differ from most tries:\nthere %s\nhere  %s", seed, count, was, is)
			}
		}
		same := counts[most] - 1
		t.Logf("seed %d: the same again in %d of %d tries", seed, same, tries)
		if same*100 < tries*enough {
			t.Errorf("seed %d: the same again in %d of %d tries only", seed, same, tries)
		}
	}
}

// difference returns the first lines in which two traces differ, around the place where they do. What happens at the same instant has no order.
func difference(a, b []string) (inA, inB string) {
	a, b = append(slices.Sorted(slices.Values(a)), "the end"), append(slices.Sorted(slices.Values(b)), "the end")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return excerpts(a[i], b[i])
		}
	}
	return "something that is not in the trace", "something that is not in the trace"
}

// excerpts returns the beginnings of two lines, and what they have where they begin to differ.
func excerpts(a, b string) (inA, inB string) {
	const beginning, around = 100, 200
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	excerpt := func(line string) string {
		from := max(min(beginning, len(line)), at-around)
		return line[:min(beginning, len(line))] + " ... " + line[from:min(len(line), max(from, at+around))]
	}
	return excerpt(a), excerpt(b)
}
