package queue

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

func key(name string) cache.ObjectName { return cache.NewObjectName("ns", name) }

func newScheduler(t *testing.T) *Scheduler {
	a := New(clock.RealClock{}, everything)
	t.Cleanup(a.Workqueue.ShutDown)
	return a
}

func (a *Scheduler) next() string {
	key, _ := a.Workqueue.Get()
	a.Take(key)
	a.Workqueue.Done(key)
	return key.Name
}

func TestUsersOvertakeTheBacklog(t *testing.T) {
	c := newScheduler(t)
	for i := range 1000 {
		c.Add(key(fmt.Sprint(i)), TriggerStart, 0)
	}
	c.Add(key("pod-changed"), TriggerPodChanged, 0)
	c.Add(key("edited"), TriggerManagerChanged, 0)
	c.Add(key("500"), TriggerManagerDeleted, 0) // already in the backlog
	c.Add(key("status"), TriggerStatusChanged, 0)
	var got []string
	for range 5 {
		got = append(got, c.next())
	}
	if want := []string{"edited", "500", "pod-changed", "0", "1"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	seen := map[string]int{}
	for c.Workqueue.Len() > 0 {
		seen[c.next()]++
	}
	if len(seen) != 998 || seen["500"] != 0 {
		t.Errorf("%d further keys, want 998; the key that moved up was queued %d more times, want none", len(seen), seen["500"])
	}
}

func TestTheBacklogIsNotStarved(t *testing.T) {
	c := newScheduler(t)
	c.Add(key("patient"), TriggerResync, 0)
	for turn := range 2 * leastUrgentEvery {
		c.Add(key(fmt.Sprint("busy-", turn)), TriggerManagerChanged, 0)
		if c.next() == "patient" {
			return
		}
	}
	t.Errorf("the least urgent key is still queued after %d turns", 2*leastUrgentEvery)
}

func TestAKeyThatIsAddedAgainKeepsItsPlace(t *testing.T) {
	c := newScheduler(t)
	c.Add(key("a"), TriggerPodChanged, 0)
	c.Add(key("b"), TriggerPodChanged, 0)
	c.Add(key("a"), TriggerPodDeleted, 0)
	if first, second := c.next(), c.next(); first != "a" || second != "b" || c.Workqueue.Len() != 0 {
		t.Errorf("the order is %s, %s, and %d keys are left; want a, b and none", first, second, c.Workqueue.Len())
	}
}
