package queue

import (
	"math/bits"
	rand "math/rand/v2"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// A failing sync is tried again after 5 ms, then ever later, but never later than a minute: nobody should have to wait for long once
// the cause is gone.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = time.Minute
)

// Write names the write that an event shows. It may turn out to be one of our own.
type Write struct {
	Trigger  Trigger
	Resource consistency.Resource
	Version  string
}

// maxWrites bounds what is kept of events that may be echoes. One more counts as news.
const maxWrites = 8

// entry is all that is kept of one key: why it is queued, and when it is to be looked at whatever happens.
type entry struct {
	news triggerSet
	// maybe are events of which it can be told only later whether they are news: an event is often here before the answer to
	// the request that it shows.
	maybe []Write
	due   requeue.LookAgain
}

func (e *entry) isEmpty() bool { return e.news == 0 && len(e.maybe) == 0 && e.due.Never() }

// Agenda is the one owner of the question when a PodManager is looked at: all that puts a key into the queue goes through it. It
// keeps a fixed amount of memory for each key that is waiting for something. A standby, which has no handlers, keeps nothing.
type Agenda struct {
	Workqueue workqueue.TypedRateLimitingInterface[cache.ObjectName]
	retry     workqueue.TypedRateLimiter[cache.ObjectName]
	isEcho    func(key cache.ObjectName, resource consistency.Resource, version string) bool
	clock     clock.PassiveClock

	mu      sync.Mutex
	entries map[cache.ObjectName]*entry
}

// New makes the agenda and its queue. The delaying queue underneath is given our own order of keys; everything else is
// client-go's.
func New(clock clock.PassiveClock, isEcho func(cache.ObjectName, consistency.Resource, string) bool) *Agenda {
	const name = "podmanager"
	a := &Agenda{
		retry:   workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](firstRetry, lastRetry),
		isEcho:  isEcho,
		clock:   clock,
		entries: map[cache.ObjectName]*entry{},
	}
	a.Workqueue = workqueue.NewTypedRateLimitingQueueWithConfig(a.retry, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{
		Name: name,
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[cache.ObjectName]{
			Name: name,
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[cache.ObjectName]{
				Name: name, Queue: newPriorityQueue(a.priority),
			}),
		}),
	})
	return a
}

// note remembers something about a key. Calls of the queue come after it, without the lock: the queue asks for priorities while it
// holds its own.
func (a *Agenda) note(key cache.ObjectName, change func(*entry)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, found := a.entries[key]
	if !found {
		e = &entry{}
		a.entries[key] = e
	}
	change(e)
}

// Add queues a key for something that is certainly news, after a wait in which more of the kind may come.
func (a *Agenda) Add(key cache.ObjectName, t Trigger, wait time.Duration) {
	a.note(key, func(e *entry) { e.news |= 1 << t })
	a.Workqueue.AddAfter(key, wait)
}

// AddUnlessEcho queues a key for an event that may show nothing but what this process has written itself.
func (a *Agenda) AddUnlessEcho(key cache.ObjectName, w Write, wait time.Duration) {
	if a.isEcho(key, w.Resource, w.Version) {
		return
	}
	a.note(key, func(e *entry) {
		if len(e.maybe) < maxWrites {
			e.maybe = append(e.maybe, w)
		} else {
			e.news |= 1 << w.Trigger
		}
	})
	a.Workqueue.AddAfter(key, wait)
}

// Take returns what a key was queued for, and forgets it. Nothing means that it was queued for echoes of own writes.
func (a *Agenda) Take(key cache.ObjectName) []Trigger {
	now := a.clock.Now()
	a.mu.Lock()
	e, found := a.entries[key]
	if !found {
		a.mu.Unlock()
		return nil
	}
	set, maybe, due := e.news, e.maybe, e.due
	e.news, e.maybe = 0, nil
	if !due.Never() && !now.Before(due.At) {
		set |= 1 << triggerTime
		e.due = requeue.LookAgain{}
	}
	if e.isEmpty() {
		delete(a.entries, key)
	}
	later := e.due
	a.mu.Unlock()

	for _, w := range maybe {
		if !a.isEcho(key, w.Resource, w.Version) {
			set |= 1 << w.Trigger
		}
	}
	if !later.Never() {
		// The queue keeps one timer for each key, the earliest. If that was another one, this time would be forgotten.
		a.Workqueue.AddAfter(key, later.At.Sub(now))
	}
	var worthIt []Trigger
	for s := uint(set); s != 0; s &= s - 1 {
		worthIt = append(worthIt, Trigger(bits.TrailingZeros(s)))
	}
	return worthIt
}

// Finish takes the answer of a sync: done, or look again at a time. A failed sync is looked at again ever later. It returns what
// was noted.
func (a *Agenda) Finish(key cache.ObjectName, again requeue.LookAgain, err error) requeue.LookAgain {
	if err != nil {
		wait := a.retry.When(key)
		again = requeue.LookAgain{At: a.clock.Now().Add(wait + time.Duration(rand.Float64()*float64(wait)/4)), Why: requeue.AgainRetry}
	} else {
		a.Workqueue.Forget(key)
	}
	if again.Never() {
		return again
	}
	a.note(key, func(e *entry) { e.due = e.due.Sooner(again) })
	a.Workqueue.AddAfter(key, max(0, again.At.Sub(a.clock.Now())))
	return again
}

// Forget drops all that is kept of a key whose object is gone.
func (a *Agenda) Forget(key cache.ObjectName) {
	a.Workqueue.Forget(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, found := a.entries[key]; found {
		if e.due = (requeue.LookAgain{}); e.isEmpty() {
			delete(a.entries, key)
		}
	}
}

// priority is that of the most urgent reason for which a key is queued.
func (a *Agenda) priority(key cache.ObjectName) priority {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, found := a.entries[key]
	if !found {
		return byBacklog // nobody waits for it any more
	}
	most := byBacklog
	if !e.due.Never() {
		most = byEvent
	}
	for _, w := range e.maybe {
		most = min(most, priorityOf(w.Trigger))
	}
	for t := range triggerCount {
		if e.news.has(t) {
			most = min(most, priorityOf(t))
		}
	}
	return most
}
