package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"
)

func key(name string) cache.ObjectName { return cache.NewObjectName("ns", name) }

// queued is the workqueue as the controller makes it.
func queued(t *testing.T) *Controller {
	causes := newCauses()
	c := &Controller{causes: causes, queue: newQueue(causes)}
	t.Cleanup(c.queue.ShutDown)
	return c
}

func (c *Controller) next() string {
	key, _ := c.queue.Get()
	c.causes.take(key, time.Time{})
	c.queue.Done(key)
	return key.Name
}

func TestUsersOvertakeTheBacklog(t *testing.T) {
	c := queued(t)
	for i := range 1000 {
		c.enqueue(key(fmt.Sprint(i)), cause{trigger: triggerStart})
	}
	c.enqueue(key("pod-changed"), cause{trigger: triggerPodChanged})
	c.enqueue(key("edited"), cause{trigger: triggerManagerChanged})
	c.enqueue(key("500"), cause{trigger: triggerManagerDeleted}) // already in the backlog
	var got []string
	for range 5 {
		got = append(got, c.next())
	}
	if want := []string{"edited", "500", "pod-changed", "0", "1"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	seen := map[string]int{}
	for c.queue.Len() > 0 {
		seen[c.next()]++
	}
	if len(seen) != 997 || seen["500"] != 0 {
		t.Errorf("%d further keys, and the one that moved up came %d more times", len(seen), seen["500"])
	}
}

func TestTheBacklogIsNotStarved(t *testing.T) {
	c := queued(t)
	c.enqueue(key("patient"), cause{trigger: triggerResync})
	for turn := range 2 * evenTurn {
		c.enqueue(key(fmt.Sprint("busy-", turn)), cause{trigger: triggerManagerChanged})
		if c.next() == "patient" {
			return
		}
	}
	t.Errorf("still waiting after %d turns", 2*evenTurn)
}

func TestAKeyThatComesAgainKeepsItsPlace(t *testing.T) {
	c := queued(t)
	c.enqueue(key("a"), cause{trigger: triggerPodChanged})
	c.enqueue(key("b"), cause{trigger: triggerPodChanged})
	c.enqueue(key("a"), cause{trigger: triggerPodDeleted})
	if first, second := c.next(), c.next(); first != "a" || second != "b" || c.queue.Len() != 0 {
		t.Errorf("order %s, %s and %d left", first, second, c.queue.Len())
	}
}
