package queue

import (
	"cmp"
	"slices"

	"k8s.io/client-go/tools/cache"
)

// workers are who syncs what. One namespace gets no more workers than are left for the others, so that requests that take long there, as
// with a slow webhook, do not hold up the rest: the first such namespace gets half of the workers, the next a quarter, and so on.
type workers struct {
	idle int
	// busy has how many workers each namespace has, and waiting the keys that get the next ones.
	busy    map[string]int
	waiting map[string][]cache.ObjectName
}

func newWorkers() workers {
	return workers{busy: map[string]int{}, waiting: map[string][]cache.ObjectName{}}
}

// Employ notes how many workers there are.
func (a *Agenda) Employ(count int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.workers.idle = count
}

// Begin reports whether a worker may sync a key that it has got from the workqueue. If not, the key waits until End is called for another
// one of its namespace: there is one, because a namespace without a worker always gets one.
func (a *Agenda) Begin(key cache.ObjectName) bool {
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

// End notes that the sync of a key is over, and queues two keys of its namespace that wait: the most urgent one, and the one that has waited
// longest. One takes the place of the key, and one finds out whether more workers are idle by now.
func (a *Agenda) End(key cache.ObjectName) {
	for _, next := range a.end(key.Namespace) {
		a.Workqueue.Add(next)
	}
}

func (a *Agenda) end(namespace string) (next []cache.ObjectName) {
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
