package leader

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
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

// A replica renews its own Lease again after the answers to an update and to a read were lost.
func TestLeaseOfMemberAfterLostAnswers(t *testing.T) {
	withCrew(t, func(t *testing.T, c *crew) {
		a, b := c.start("a", "", testShards), c.start("b", "", testShards)
		time.Sleep(time.Minute)
		c.wantLoads("8 8", a, b)
		c.server.mutex.Lock()
		own := c.server.leases[a.group.names.member(a.group.member.id)].DeepCopy()
		a.client.store(watch.Modified, own) // an update whose answer a does not get
		a.client.failGets = 1
		c.server.mutex.Unlock()
		time.Sleep(time.Minute)
		c.server.mutex.Lock()
		failed := a.client.failGets == 0
		c.server.mutex.Unlock()
		if !failed {
			t.Fatal("nothing was read")
		}
		c.wantLoads("8 8", a, b)
		c.server.mutex.Lock()
		defer c.server.mutex.Unlock()
		if age := time.Since(c.server.leases[own.Name].Spec.RenewTime.Time); age > 10*time.Second {
			t.Errorf("the Lease of the replica was renewed %v ago", age)
		}
	})
}
