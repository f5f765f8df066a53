package leader

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Replicas join, leave and are cut off at random. No two replicas ever work on the same shard. Afterwards the shards are evenly distributed
// and do not move any more.
func TestGroupUnderFaults(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			withReplicas(t, func(t *testing.T, c *testReplicas) {
				random := rand.New(rand.NewPCG(seed, 1))
				var all []*replica
				for step := range 40 {
					switch {
					case len(all) < 2 || len(all) < 6 && random.IntN(3) == 0:
						all = append(all, c.start(fmt.Sprint("r", step), "", testShards))
					case random.IntN(2) == 0:
						gone := random.IntN(len(all))
						all[gone].stop()
						all = slices.Delete(all, gone, gone+1)
					default:
						cut := all[random.IntN(len(all))]
						cut.client.setCut(true)
						lasts := time.Duration(random.IntN(25_000)) * time.Millisecond
						time.AfterFunc(lasts, func() { cut.client.setCut(false) })
					}
					time.Sleep(time.Duration(random.IntN(10_000)) * time.Millisecond)
				}
				time.Sleep(90 * time.Second)
				var counts []int
				total := 0
				for _, r := range all {
					counts = append(counts, len(r.group.Held()))
					total += counts[len(counts)-1]
				}
				if total != testShards || slices.Max(counts)-slices.Min(counts) > 1 {
					t.Errorf("the replicas hold %v shards; the Leases: %v", counts, c.server.holders())
				}
				calm := time.Now()
				time.Sleep(2 * time.Minute)
				if moved := c.began(calm); len(moved) > 0 {
					t.Errorf("shards have moved although no replica has joined or left: %+v", moved)
				}
			})
		})
	}
}
