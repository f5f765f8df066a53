package queue

import (
	"cmp"
	"slices"

	"k8s.io/client-go/tools/cache"
)

// workers divides the workers among namespaces. A namespace gets no more workers than remain idle for the others, so that slow requests in
// one namespace, for example because of a slow webhook, do not delay the others. The first such namespace gets half of the workers, the next
// one a quarter, and so on.
type workers struct {
	idle int
	// busy is the number of workers of each namespace. waiting has the keys that get the next ones.
	busy    map[string]int
	waiting map[string][]cache.ObjectName
}

func newWorkers() workers {
	return workers{busy: map[string]int{}, waiting: map[string][]cache.ObjectName{}}
}

// Employ sets the number of workers.
func (a *Scheduler) Employ(count int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.workers.idle = count
}

// Begin reports whether a worker may sync a key that it has got from the workqueue. If not, the key waits until End is called for another key
// of its namespace. There is such a key, because a namespace without a worker always gets one.
func (a *Scheduler) Begin(key cache.ObjectName) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := &a.workers
	if w.busy[key.Namespace] < max(1, w.idle) {
		w.idle--
		w.busy[key.Namespace]++
		return true
	}
	if !slices.Contains(w.waiting[key.Namespace], key) {
		w.waiting[key.Namespace] = append(w.waiting[key.Namespace], key)
	}
	return false
}

// End records that the sync of a key is over, and queues two waiting keys of its namespace: the most urgent one, and the one that has waited
// longest. One takes the place of the key. The other one is in case more workers are idle by now.
func (a *Scheduler) End(key cache.ObjectName) {
	for _, next := range a.end(key.Namespace) {
		a.Workqueue.Add(next)
	}
}

func (a *Scheduler) end(namespace string) (next []cache.ObjectName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := &a.workers
	w.idle++
	if w.busy[namespace]--; w.busy[namespace] == 0 {
		delete(w.busy, namespace)
	}
	waiting := w.waiting[namespace]
	if len(waiting) > 0 {
		next, waiting = append(next, waiting[0]), waiting[1:]
	}
	if len(waiting) > 0 {
		urgent := slices.MinFunc(waiting, func(x, y cache.ObjectName) int { return cmp.Compare(a.mostUrgent(x), a.mostUrgent(y)) })
		next, waiting = append(next, urgent), slices.DeleteFunc(waiting, func(other cache.ObjectName) bool { return other == urgent })
	}
	if w.waiting[namespace] = waiting; len(waiting) == 0 {
		delete(w.waiting, namespace)
	}
	return next
}
