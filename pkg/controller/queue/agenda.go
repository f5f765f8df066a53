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

// The backoff of a failing sync starts at 5 ms and doubles up to a minute: once the cause is gone, nobody should have to wait for long.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = time.Minute
)

// ObservedWrite names the write that an event shows, and the trigger that the event is unless the write is our own.
type ObservedWrite struct {
	Trigger  Trigger
	Resource consistency.Resource
	Version  string
}

// maxPossibleEchoes bounds the possible echoes that are kept for a key. One more event counts as a trigger.
const maxPossibleEchoes = 8

// entry is what the agenda keeps for one key: why the key is queued, and when it is due without any event.
type entry struct {
	triggers triggerSet
	// possibleEchoes are the writes of events that may be echoes. Take finds out: an event often arrives before the answer to our own
	// request.
	possibleEchoes []ObservedWrite
	due            requeue.LookAgain
}

func (e *entry) isEmpty() bool { return e.triggers == 0 && len(e.possibleEchoes) == 0 && e.due.Never() }

// Agenda decides when a PodManager is synced: every key enters the workqueue through the agenda. It keeps a bounded entry for each key
// that is queued or due. On a standby, which has no handlers, it stays empty.
type Agenda struct {
	Workqueue workqueue.TypedRateLimitingInterface[cache.ObjectName]
	backoff   workqueue.TypedRateLimiter[cache.ObjectName]
	// isOurs keeps out the keys that another controller syncs.
	isOurs func(key cache.ObjectName) bool
	isEcho func(key cache.ObjectName, resource consistency.Resource, version string) bool
	clock  clock.PassiveClock

	mu      sync.Mutex
	entries map[cache.ObjectName]*entry
}

// New makes the agenda and its workqueue. Only the order of the keys is ours; everything else is client-go's.
func New(clock clock.PassiveClock, isOurs func(cache.ObjectName) bool, isEcho func(cache.ObjectName, consistency.Resource, string) bool) *Agenda {
	const name = "podmanager"
	a := &Agenda{
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](minBackoff, maxBackoff),
		isOurs:  isOurs,
		isEcho:  isEcho,
		clock:   clock,
		entries: map[cache.ObjectName]*entry{},
	}
	a.Workqueue = workqueue.NewTypedRateLimitingQueueWithConfig(a.backoff, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{
		Name: name,
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[cache.ObjectName]{
			Name: name,
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[cache.ObjectName]{
				Name: name, Queue: newPriorityQueue(a.priorityOf),
			}),
		}),
	})
	return a
}

// update changes the entry of a key. Callers call the workqueue afterwards, without the lock: the workqueue holds its own lock while it
// asks for priorities, which take ours.
func (a *Agenda) update(key cache.ObjectName, change func(*entry)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, found := a.entries[key]
	if !found {
		e = &entry{}
		a.entries[key] = e
	}
	change(e)
}

// Add enqueues a key for a trigger, after a wait in which further events may join it.
func (a *Agenda) Add(key cache.ObjectName, t Trigger, wait time.Duration) {
	if !a.isOurs(key) {
		return
	}
	a.update(key, func(e *entry) { e.triggers |= 1 << t })
	a.Workqueue.AddAfter(key, wait)
}

// AddUnlessEcho enqueues a key for an event, after a wait, unless the event is an echo of our own write.
func (a *Agenda) AddUnlessEcho(key cache.ObjectName, w ObservedWrite, wait time.Duration) {
	if !a.isOurs(key) || a.isEcho(key, w.Resource, w.Version) {
		return
	}
	a.update(key, func(e *entry) {
		if len(e.possibleEchoes) < maxPossibleEchoes {
			e.possibleEchoes = append(e.possibleEchoes, w)
		} else {
			e.triggers |= 1 << w.Trigger
		}
	})
	a.Workqueue.AddAfter(key, wait)
}

// Take returns the triggers that a key was queued for, and forgets them. It returns none if all events were echoes.
func (a *Agenda) Take(key cache.ObjectName) []Trigger {
	now := a.clock.Now()
	a.mu.Lock()
	e, found := a.entries[key]
	if !found {
		a.mu.Unlock()
		return nil
	}
	set, possibleEchoes, due := e.triggers, e.possibleEchoes, e.due
	e.triggers, e.possibleEchoes = 0, nil
	if !due.Never() && !now.Before(due.At) {
		set |= 1 << triggerTime
		e.due = requeue.LookAgain{}
	}
	if e.isEmpty() {
		delete(a.entries, key)
	}
	later := e.due
	a.mu.Unlock()

	for _, w := range possibleEchoes {
		if !a.isEcho(key, w.Resource, w.Version) {
			set |= 1 << w.Trigger
		}
	}
	if !later.Never() {
		// The workqueue keeps only the earliest timer of each key. An earlier one may have replaced the timer of due, so set it again.
		a.Workqueue.AddAfter(key, later.At.Sub(now))
	}
	var triggers []Trigger
	for s := uint(set); s != 0; s &= s - 1 {
		triggers = append(triggers, Trigger(bits.TrailingZeros(s)))
	}
	return triggers
}

// Finish requeues a key after its sync: at the time that the sync asked for, or with backoff if the sync failed. It returns when and
// why the key is requeued.
func (a *Agenda) Finish(key cache.ObjectName, again requeue.LookAgain, err error) requeue.LookAgain {
	if err != nil {
		wait := a.backoff.When(key)
		again = requeue.LookAgain{At: a.clock.Now().Add(wait + time.Duration(rand.Float64()*float64(wait)/4)), Why: requeue.AgainRetry}
	} else {
		a.Workqueue.Forget(key)
	}
	if again.Never() {
		return again
	}
	a.update(key, func(e *entry) { e.due = e.due.Sooner(again) })
	a.Workqueue.AddAfter(key, max(0, again.At.Sub(a.clock.Now())))
	return again
}

// Forget drops the backoff and the due time of a key whose PodManager is gone. Triggers that have arrived meanwhile stay.
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

// priorityOf returns the priority of the most urgent reason for which a key is queued.
func (a *Agenda) priorityOf(key cache.ObjectName) priority {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, found := a.entries[key]
	if !found {
		return byBacklog // the agenda knows no reason any more
	}
	mostUrgent := byBacklog
	if !e.due.Never() {
		mostUrgent = byEvent
	}
	for _, w := range e.possibleEchoes {
		mostUrgent = min(mostUrgent, triggerPriority(w.Trigger))
	}
	for t := range triggerCount {
		if e.triggers.has(t) {
			mostUrgent = min(mostUrgent, triggerPriority(t))
		}
	}
	return mostUrgent
}
