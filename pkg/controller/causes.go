package controller

import (
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/plan"
)

// What made a PodManager be looked at, as logs and metrics call it.
const (
	triggerStart          = "start"
	triggerManagerAdded   = "managerAdded"
	triggerManagerChanged = "managerChanged"
	triggerManagerDeleted = "managerDeleted"
	triggerResync         = "resync"
	triggerPodAdded       = "podAdded"
	triggerPodChanged     = "podChanged"
	triggerPodDeleted     = "podDeleted"
	triggerPodOrphaned    = "podOrphaned"
	triggerNameFreed      = "nameFreed"
	triggerRevision       = "revisionChanged"
	triggerRetry          = "retry"
	triggerMore           = "more"
	triggerTime           = "time"
)

// cause is one reason why a key is in the queue.
type cause struct {
	trigger string
	// resource and version name the write that the event shows. It may turn out to be one of our own; empty for an
	// event that is always news.
	resource consistency.Resource
	version  string
}

// causes remembers why each key is in the queue. The queue itself keeps no reasons; and whether an event only shows
// what this process wrote can be told only when the sync that wrote it has ended, which is when the key is taken out:
// the event is often here before the answer to the request.
type causes struct {
	mu    sync.Mutex
	byKey map[cache.ObjectName][]cause
	// due is the next time at which a key is to be looked at whatever happens.
	due map[cache.ObjectName]time.Time
}

func newCauses() *causes {
	return &causes{byKey: map[cache.ObjectName][]cause{}, due: map[cache.ObjectName]time.Time{}}
}

func (c *causes) add(key cache.ObjectName, why cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKey[key] = append(c.byKey[key], why)
}

// priority is that of the most urgent reason for which a key is queued.
func (c *causes) priority(key cache.ObjectName) priority {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byKey[key]) == 0 {
		return byEvent // it is due
	}
	most := byBacklog
	for _, why := range c.byKey[key] {
		most = min(most, priorityOf(why.trigger))
	}
	return most
}

func (c *causes) addDue(key cache.ObjectName, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, found := c.due[key]; !found || at.Before(before) {
		c.due[key] = at
	}
}

// take returns why the key was queued, and forgets it. A key that nobody gave a reason for was due. If it is due at a
// later time only, that is returned too; zero otherwise.
func (c *causes) take(key cache.ObjectName, now time.Time) (why []cause, later time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	why = c.byKey[key]
	delete(c.byKey, key)
	if due, found := c.due[key]; found && now.Before(due) {
		later = due.Sub(now)
	} else if found {
		delete(c.due, key)
		why = append(why, cause{trigger: triggerTime})
	}
	if len(why) == 0 {
		why = []cause{{trigger: triggerTime}}
	}
	return why, later
}

// enqueue queues a key for a reason.
func (c *Controller) enqueue(key cache.ObjectName, why cause) {
	c.causes.add(key, why)
	c.queue.Add(key)
}

// enqueueForPod queues a key for a reason that has to do with one of its pods: for many pods with others of that kind.
func (c *Controller) enqueueForPod(manager *v1.PodManager, why cause) {
	key := cache.MetaObjectToName(manager)
	c.causes.add(key, why)
	c.queue.AddAfter(key, plan.GatherEvents(manager))
}

// enqueueAfter queues a key because something will have changed by then without an event.
func (c *Controller) enqueueAfter(key cache.ObjectName, wait time.Duration) {
	c.causes.addDue(key, c.clock.Now().Add(wait))
	c.queue.AddAfter(key, wait)
}

// triggers are the reasons for which a sync is worth it: all but echoes of our own writes.
func (c *Controller) triggers(key cache.ObjectName) []string {
	all, later := c.causes.take(key, c.clock.Now())
	if later > 0 {
		// The queue keeps one timer for each key, the earliest. If that was another one, this time would be forgotten.
		c.queue.AddAfter(key, later)
	}
	var worthIt []string
	for _, why := range all {
		if why.version != "" && c.tracker.IsEcho(key, why.resource, why.version) {
			continue
		}
		triggersTotal.WithLabelValues(why.trigger).Inc()
		worthIt = append(worthIt, why.trigger)
	}
	return worthIt
}
