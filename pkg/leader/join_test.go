package leader

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/pkg/shard"
)

// A replica that joins while the Lease of a dead replica still exists takes its share of the shards at once. It does not leave them to the
// dead replica.
func TestGroupMemberJoinsAfterADeath(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		a, b := c.start("a", "", testShards), c.start("b", "", testShards)
		time.Sleep(time.Minute)
		b.client.setCut(true) // forever
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
					t.Errorf("no replica worked on shard %d for %v", next.shard, gap)
				}
			}
		}
	})
}

// If a user deletes the Lease of a shard, its holder keeps the shard.
func TestLeaseOfShardIsDeleted(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		a, b := c.start("a", "", testShards), c.start("b", "", testShards)
		time.Sleep(time.Minute)
		deleted := time.Now()
		for _, part := range a.group.Held() {
			if err := c.server.client().Delete(c.ctx, a.group.leaseOf(part), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(30 * time.Second)
		c.wantLoads("8 8", a, b)
		if moved := c.began(deleted); len(moved) > 0 {
			t.Errorf("shards have moved after their Leases were deleted: %+v", moved)
		}
	})
}

// The last holder of a shard is dead, and so is another replica that had asked for the shard. The replica that is about to take the shard does not
// give it up to the dead one.
func TestShardThatTheDeadHaveAskedFor(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		a := c.start("a", "", testShards)
		a.stop()
		time.Sleep(time.Minute)
		part := shard.Shard{Index: 3, Count: testShards}
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: a.group.leaseOf(part), Labels: map[string]string{labelWantedBy: "dead"}}, Spec: heldBy("gone")}
		a.group.observer.saw(lease)
		time.Sleep(time.Minute)
		for i := range testShards {
			a.group.terms[shard.Shard{Index: i, Count: testShards}] = &term{}
		}
		if step := a.group.view(time.Now(), time.Now()).Next(); len(step.GiveUp) > 0 {
			t.Errorf("the replica gives up the shards %v before it holds them", step.GiveUp)
		}
		clear(a.group.terms)
	})
}
