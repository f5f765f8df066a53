package leader

import (
	"testing"
	"time"
)

// A replica that starts while the Lease of a dead one is still there does not leave the shards that it is given to the dead one.
func TestGroupMemberJoinsAfterADeath(t *testing.T) {
	withCrew(t, func(t *testing.T, c *crew) {
		a, b := c.start("a", "", testShards), c.start("b", "", testShards)
		time.Sleep(time.Minute)
		b.client.setCut(true) // for ever
		time.Sleep(20 * time.Second)
		c.wantLoads("16", a)
		joined := time.Now()
		d := c.start("d", "", testShards)
		time.Sleep(30 * time.Second)
		c.wantLoads("8 8", a, d)
		c.mutex.Lock()
		defer c.mutex.Unlock()
		for _, next := range c.terms {
			for _, last := range c.terms {
				isHandover := last.replica == "a" && next.replica == "d" && last.shard == next.shard && last.ended.After(joined)
				if gap := next.began.Sub(last.ended); isHandover && gap > time.Second {
					t.Errorf("nobody worked on shard %d for %v", next.shard, gap)
				}
			}
		}
	})
}
