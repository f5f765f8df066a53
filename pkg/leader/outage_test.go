package leader

import (
	"testing"
	"time"
)

// After an API server outage in which all Leases have expired, the replicas share the work again.
func TestGroupAfterAnOutage(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		all := []*replica{c.start("a", "", testShards), c.start("b", "", testShards)}
		time.Sleep(time.Minute)
		c.wantLoads("8 8", all...)
		for _, r := range all {
			r.client.setCut(true)
		}
		time.Sleep(30 * time.Second)
		c.wantLoads("0 0", all...)
		for _, r := range all {
			r.client.setCut(false)
		}
		time.Sleep(15 * time.Second)
		c.wantLoads("8 8", all...)
	})
}

// The same holds for a single replica.
func TestOnlyMemberAfterAnOutage(t *testing.T) {
	withReplicas(t, func(t *testing.T, c *testReplicas) {
		a := c.start("a", "", testShards)
		time.Sleep(time.Minute)
		a.client.setCut(true)
		time.Sleep(30 * time.Second)
		a.client.setCut(false)
		time.Sleep(15 * time.Second)
		c.wantLoads("16", a)
	})
}
