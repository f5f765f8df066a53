package queue

import (
	rand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// The backoff of a failing sync starts at 5 ms and doubles up to 15 s. It is short so that users do not wait long once the cause is gone.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = 15 * time.Second
)

// entry is what the scheduler keeps for one key: why the key is queued, and when it is due even without an event.
type entry struct {
	triggers []Trigger // each once
	due      requeue.Requeue
	// backoff is when the backoff of a failed sync ends. Only a user's change ends it sooner.
	backoff time.Time
}

func (e *entry) isEmpty() bool { return len(e.triggers) == 0 && e.due.Never() && e.backoff.IsZero() }

// Scheduler decides when a PodManager is synced: every key enters the workqueue through the scheduler. It keeps an entry of bounded size for each
// key that is queued or due. On a standby, which has no handlers, it stays empty.
type Scheduler struct {
	Workqueue workqueue.TypedRateLimitingInterface[cache.ObjectName]
	backoff   workqueue.TypedRateLimiter[cache.ObjectName]
	// isOurs filters out keys that another controller syncs.
	isOurs func(key cache.ObjectName) bool
	clock  clock.PassiveClock

	mu      sync.Mutex
	entries map[cache.ObjectName]*entry
	workers workers
}

// New returns the scheduler and its workqueue. Only the order of the keys is custom; everything else is client-go's.
func New(clock clock.PassiveClock, isOurs func(cache.ObjectName) bool) *Scheduler {
	const name = "podmanager"
	a := &Scheduler{
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](minBackoff, maxBackoff),
		isOurs:  isOurs,
		clock:   clock,
		entries: map[cache.ObjectName]*entry{},
		workers: newWorkers(),
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

// update changes the entry of a key. Callers call the workqueue afterwards, without our lock: the workqueue holds its own lock while it asks
// for priorities, which takes ours.
func (a *Scheduler) update(key cache.ObjectName, change func(*entry)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, found := a.entries[key]
	if !found {
		e = &entry{}
		a.entries[key] = e
	}
	change(e)
}

// Add enqueues a key for a trigger, after a delay in which further events may join it. Only a user's change cuts the backoff of a failed sync
// short: a failing request and the events that it causes must not become a loop.
func (a *Scheduler) Add(key cache.ObjectName, t Trigger, wait time.Duration) {
	if !a.isOurs(key) {
		return
	}
	a.update(key, func(e *entry) {
		if !slices.Contains(e.triggers, t) {
			e.triggers = append(e.triggers, t)
		}
		if triggerPriority[t] == byUser {
			e.backoff = time.Time{}
		}
		if !e.backoff.IsZero() {
			wait = max(wait, e.backoff.Sub(a.clock.Now()))
		}
	})
	a.Workqueue.AddAfter(key, wait)
}

// Take returns the triggers that a key was queued for, and clears them. It returns none if only an old timer has queued the key, and the key was
// forgotten or synced in the meantime, or is in the backoff of a failed sync.
func (a *Scheduler) Take(key cache.ObjectName) []Trigger {
	triggers, later := a.take(key)
	if !later.Never() {
		// The workqueue keeps only the earliest timer of each key. An earlier one may have replaced the timer for due, so set it again.
		a.Workqueue.AddAfter(key, later.At.Sub(a.clock.Now()))
	}
	return triggers
}

func (a *Scheduler) take(key cache.ObjectName) (triggers []Trigger, later requeue.Requeue) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, found := a.entries[key]
	switch {
	case !found:
		return nil, requeue.Requeue{}
	case a.clock.Now().Before(e.backoff): // an event set this timer before the sync failed
		return nil, e.due
	}
	triggers, e.triggers, e.backoff = e.triggers, nil, time.Time{}
	if !e.due.Never() && !a.clock.Now().Before(e.due.At) {
		triggers = append(triggers, triggerTime)
		e.due = requeue.Requeue{}
	}
	if e.isEmpty() {
		delete(a.entries, key)
	}
	return triggers, e.due
}

// Finish requeues a key after its sync: at the time that the sync asked for, or with backoff if the sync failed. It returns when and why the key is
// requeued. If keepBackoff is set, the next failure continues the backoff of earlier failures: this sync waited for the cache, or the API server
// refused a part of its plan, so the request that failed earlier may not have been repeated yet.
func (a *Scheduler) Finish(key cache.ObjectName, again requeue.Requeue, keepBackoff bool, err error) requeue.Requeue {
	switch {
	case err != nil:
		wait := a.backoff.When(key)
		again = requeue.Requeue{At: a.clock.Now().Add(wait + time.Duration(rand.Float64()*float64(wait)/4)), Why: requeue.RequeueRetry}
	case !keepBackoff:
		a.Workqueue.Forget(key)
	}
	if again.Never() {
		return again
	}
	a.update(key, func(e *entry) {
		if e.due = e.due.Sooner(again); err != nil {
			e.due = again // an earlier time would be within the backoff
		}
		isByUser := slices.ContainsFunc(e.triggers, func(t Trigger) bool { return triggerPriority[t] == byUser })
		if err != nil && !isByUser { // a user's change during the sync may have removed the cause
			e.backoff = again.At
		}
	})
	a.Workqueue.AddAfter(key, max(0, again.At.Sub(a.clock.Now())))
	return again
}

// Forget drops the backoff and the due time of a key whose PodManager is gone. It keeps triggers that have arrived in the meantime.
func (a *Scheduler) Forget(key cache.ObjectName) {
	a.Workqueue.Forget(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, found := a.entries[key]; found {
		if e.due, e.backoff = (requeue.Requeue{}), (time.Time{}); e.isEmpty() {
			delete(a.entries, key)
		}
	}
}

func (a *Scheduler) priorityOf(key cache.ObjectName) priority {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mostUrgent(key)
}

// mostUrgent returns the priority of the most urgent reason for which a key is queued. The caller holds the lock.
func (a *Scheduler) mostUrgent(key cache.ObjectName) priority {
	e, found := a.entries[key]
	if !found {
		return byBacklog // the scheduler no longer knows a reason
	}
	mostUrgent := byBacklog
	if !e.due.Never() {
		mostUrgent = byEvent
	}
	for _, t := range e.triggers {
		mostUrgent = min(mostUrgent, triggerPriority[t])
	}
	return mostUrgent
}
