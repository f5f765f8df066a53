package controller

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/mycompany/podmanager/pkg/consistency"
)

func TestTriggers(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	web := key("web")
	changed := func(version string) cause { return cause{triggerPodChanged, podsResource, version} }
	tests := map[string]struct {
		happened func(c *Controller, clock *testingclock.FakePassiveClock)
		want     []string
	}{
		"somebody else's write": {
			func(c *Controller, _ *testingclock.FakePassiveClock) { c.enqueue(web, changed("7")) },
			[]string{triggerPodChanged},
		},
		"our own write, whose event came before the answer": {
			func(c *Controller, clock *testingclock.FakePassiveClock) {
				c.enqueue(web, changed("7"))
				c.tracker.Wrote(web, podsResource, "7", clock.Now())
			}, nil,
		},
		"our own write and another one": {
			func(c *Controller, clock *testingclock.FakePassiveClock) {
				c.tracker.Wrote(web, podsResource, "7", clock.Now())
				c.enqueue(web, changed("7"))
				c.enqueue(web, changed("8"))
			}, []string{triggerPodChanged},
		},
		"a pod that is gone is never an echo": {
			func(c *Controller, clock *testingclock.FakePassiveClock) {
				c.tracker.Wrote(web, podsResource, "7", clock.Now())
				c.enqueue(web, cause{trigger: triggerPodDeleted})
			}, []string{triggerPodDeleted},
		},
		"nobody knows why: it was due": {
			func(*Controller, *testingclock.FakePassiveClock) {}, []string{triggerTime},
		},
		"our own write at the time it was due": {
			func(c *Controller, clock *testingclock.FakePassiveClock) {
				c.enqueueAfter(web, time.Second)
				c.tracker.Wrote(web, podsResource, "7", clock.Now())
				c.enqueue(web, changed("7"))
				clock.SetTime(start.Add(time.Second))
			}, []string{triggerTime},
		},
		"our own write before it was due": {
			func(c *Controller, clock *testingclock.FakePassiveClock) {
				c.enqueueAfter(web, time.Second)
				c.tracker.Wrote(web, podsResource, "7", clock.Now())
				c.enqueue(web, changed("7"))
			}, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(start)
			c := queued(t)
			c.clock, c.tracker = clock, consistency.NewTracker()
			test.happened(c, clock)
			if got := c.triggers(web); !slices.Equal(got, test.want) {
				t.Errorf("worth a sync: %v, want %v", got, test.want)
			}
		})
	}
}

// The queue has one timer for each key. A key that is due later than an earlier timer, and is then taken out for nothing
// but an echo, comes back all the same when it is due.
func TestDueSurvivesAnEarlierTimer(t *testing.T) {
	web := key("web")
	c := queued(t)
	c.clock, c.tracker = clock.RealClock{}, consistency.NewTracker()
	c.queue.AddAfter(web, time.Millisecond) // a retry, whose reason a sync in between has taken
	c.enqueueAfter(web, 50*time.Millisecond)
	c.tracker.Wrote(web, podsResource, "7", c.clock.Now())
	c.causes.add(web, cause{triggerPodChanged, podsResource, "7"})

	for _, want := range [][]string{nil, {triggerTime}} {
		taken := make(chan []string, 1)
		go func() {
			got, _ := c.queue.Get()
			defer c.queue.Done(got)
			taken <- c.triggers(got)
		}()
		select {
		case got := <-taken:
			if !slices.Equal(got, want) {
				t.Fatalf("worth a sync: %v, want %v", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("the key did not come back; wanted it for %v", want)
		}
	}
}
