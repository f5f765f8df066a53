package queue

import "k8s.io/client-go/tools/cache"

// workers divides the workers among namespaces. A namespace gets no more workers than remain idle for the others, so that slow requests in
// one namespace, for example because of a slow webhook, do not delay the others. The first such namespace gets half of the workers, the next
// one a quarter, and so on.
type workers struct {
	idle int
	// busy is the number of workers of each namespace. waiting has the keys that get the next ones.
	busy    map[string]int
	waiting map[string]*priorityQueue
}

func newWorkers() workers {
	return workers{busy: map[string]int{}, waiting: map[string]*priorityQueue{}}
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
	waiting, found := w.waiting[key.Namespace]
	if !found {
		waiting = newPriorityQueue(a.mostUrgent)
		w.waiting[key.Namespace] = waiting
	}
	if _, found := waiting.queued[key]; found {
		waiting.Touch(key)
	} else {
		waiting.Push(key)
	}
	return false
}

// End records that the sync of a key is over, and queues the two most urgent of the waiting keys of its namespace. One takes the place of the key.
// The other one is in case more workers are idle by now.
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
	waiting, found := w.waiting[namespace]
	for found && waiting.Len() > 0 && len(next) < 2 {
		next = append(next, waiting.Pop())
	}
	if found && waiting.Len() == 0 {
		delete(w.waiting, namespace)
	}
	return next
}
