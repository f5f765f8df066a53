package controller

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/mycompany/podmanager/pkg/consistency"
)

func key(name string) cache.ObjectName { return cache.NewObjectName("ns", name) }

// queued is an agenda as the controller makes it, with nothing that is an echo.
func queued(t *testing.T) *agenda {
	a := newAgenda(clock.RealClock{}, func(cache.ObjectName, consistency.Resource, string) bool { return false })
	t.Cleanup(a.queue.ShutDown)
	return a
}

func (a *agenda) next() string {
	key, _ := a.queue.Get()
	a.take(key)
	a.queue.Done(key)
	return key.Name
}

func TestUsersOvertakeTheBacklog(t *testing.T) {
	c := queued(t)
	for i := range 1000 {
		c.add(key(fmt.Sprint(i)), triggerStart, 0)
	}
	c.add(key("pod-changed"), triggerPodChanged, 0)
	c.add(key("edited"), triggerManagerChanged, 0)
	c.add(key("500"), triggerManagerDeleted, 0) // already in the backlog
	c.addUnlessEcho(key("status"), write{triggerStatusChanged, "podmanagers", "7"}, 0)
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
	if len(seen) != 998 || seen["500"] != 0 {
		t.Errorf("%d further keys, and the one that moved up came %d more times", len(seen), seen["500"])
	}
}

func TestTheBacklogIsNotStarved(t *testing.T) {
	c := queued(t)
	c.add(key("patient"), triggerResync, 0)
	for turn := range 2 * evenTurn {
		c.add(key(fmt.Sprint("busy-", turn)), triggerManagerChanged, 0)
		if c.next() == "patient" {
			return
		}
	}
	t.Errorf("still waiting after %d turns", 2*evenTurn)
}

func TestAKeyThatComesAgainKeepsItsPlace(t *testing.T) {
	c := queued(t)
	c.add(key("a"), triggerPodChanged, 0)
	c.add(key("b"), triggerPodChanged, 0)
	c.add(key("a"), triggerPodDeleted, 0)
	if first, second := c.next(), c.next(); first != "a" || second != "b" || c.queue.Len() != 0 {
		t.Errorf("order %s, %s and %d left", first, second, c.queue.Len())
	}
}
