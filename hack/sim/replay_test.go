package sim

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/sim/luck"
)

// TestReplay plays a seed repeatedly: the result must be the same again. SIM_TRIES=100 plays whole courses of several seeds that many times each, and 95
// of 100 must have the most frequent result. SIM_SEED=5 then selects another seed.
//
// The seeds have courses without shards. With shards, as in seed 2, requests for several Leases and caches are in flight at the same instant, and
// most tries differ.
func TestReplay(t *testing.T) {
	if testing.Short() {
		t.Skip("this test checks the simulation, not the controller")
	}
	if !luck.IsKnown() {
		t.Skip("the random choices of this runtime cannot be seeded")
	}
	tries, err := strconv.Atoi(os.Getenv("SIM_TRIES"))
	if err != nil {
		replaySoon(t)
		return
	}
	seeds := []uint64{1, 3, 7}
	if seed, err := strconv.ParseUint(os.Getenv("SIM_SEED"), 10, 64); err == nil {
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		replayOften(t, seed, tries)
	}
}

// replaySoon plays the beginning of a course until it has had the same result twice. A busy machine disturbs any number of tries. Seed 7 has a course
// that is another one in each try without package luck; with other seeds, chance matters less.
func replaySoon(t *testing.T) {
	t.Helper()
	const seed, most = 7, 12
	course := Course{Users: trouble.Users, Length: 20 * time.Second, Traced: true}
	played := map[uint64]bool{} // by fingerprint
	for try := range most {
		c, _ := play(t, seed, course, nil)
		fingerprint := c.story.fingerprint()
		if played[fingerprint] {
			t.Logf("seed %d: the same again in try %d", seed, try+1)
			return
		}
		played[fingerprint] = true
	}
	t.Errorf("seed %d: %d tries, and no two are the same", seed, most)
}

// replayOften plays a course many times, and reports how many tries differ from the most frequent result.
func replayOften(t *testing.T, seed uint64, tries int) {
	t.Helper()
	course := trouble
	course.Traced = true
	most, counts := uint64(0), map[uint64]int{} // by fingerprint; the most frequent course is the reference, because any try may be the one that is disturbed
	var played []*Cluster
	for range tries + 1 {
		c, _ := play(t, seed, course, nil)
		played = append(played, c)
		fingerprint := c.story.fingerprint()
		if counts[fingerprint]++; counts[fingerprint] > counts[most] {
			most = fingerprint
		}
	}
	reference := played[slices.IndexFunc(played, func(c *Cluster) bool { return c.story.fingerprint() == most })]
	for _, c := range played {
		if c.story.fingerprint() != most {
			was, is := difference(reference.story.trace, c.story.trace)
			t.Logf("seed %d: the course differs from most tries:\nthere %s\nhere  %s", seed, was, is)
		}
	}
	same := counts[most] - 1
	t.Logf("seed %d: the same again in %d of %d tries", seed, same, tries)
	if same*100 < tries*95 {
		t.Errorf("seed %d: the same again in %d of %d tries only", seed, same, tries)
	}
}

// difference returns the first lines in which two traces differ. What happens at the same instant has no order.
func difference(a, b []string) (inA, inB string) {
	a, b = append(slices.Sorted(slices.Values(a)), "the end"), append(slices.Sorted(slices.Values(b)), "the end")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i], b[i]
		}
	}
	return "something that is not in the trace", "something that is not in the trace"
}
