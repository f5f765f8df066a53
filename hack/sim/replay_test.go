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
// of 100 must have the most frequent result. SIM_SEED=5 then selects another seed. Seed 2 has shards.
func TestReplay(t *testing.T) {
	if testing.Short() {
		t.Skip("this test checks the simulation, not the controller")
	}
	if !luck.IsKnown() {
		t.Skip("the random choices of this runtime cannot be seeded")
	}
	tries, err := strconv.Atoi(os.Getenv("SIM_TRIES"))
	if err != nil {
		replaySoon(t, 2)
		replaySoon(t, 7)
		return
	}
	seeds := []uint64{1, 2, 7}
	if seed, err := strconv.ParseUint(os.Getenv("SIM_SEED"), 10, 64); err == nil {
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		replayOften(t, seed, tries)
	}
}

// replaySoon plays the beginning of a course until it has had the same result twice. A busy machine may disturb any number of tries. Without package
// luck, twelve tries of seed 7 were all different; with some other seeds, chance matters less.
func replaySoon(t *testing.T, seed uint64) {
	t.Helper()
	const most = 12
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

// replayOften plays a course many times, and reports how many tries differ from the most frequent result. It keeps nothing else of a course: if memory
// runs short, the garbage collector disturbs the next one.
func replayOften(t *testing.T, seed uint64, tries int) {
	t.Helper()
	course := trouble
	course.Traced = true
	most, counts, traces := uint64(0), map[uint64]int{}, map[uint64][]string{} // by fingerprint
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
	if same*100 < tries*95 {
		t.Errorf("seed %d: the same again in %d of %d tries only", seed, same, tries)
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
