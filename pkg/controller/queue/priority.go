package queue

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// priority determines how soon a key leaves the workqueue. The lowest value is the most urgent.
type priority int

const (
	// byUser: a user has created, edited or deleted a PodManager, and is waiting.
	byUser priority = iota
	// byEvent: a pod has changed, the key is due, or a PodManager was found unfinished when the controller started.
	byEvent
	// byBacklog: nothing is known to have changed, as for most keys at a start or a resync. Or only a status has changed, most likely because
	// this controller wrote it.
	byBacklog
	priorities
)

// leastUrgentEvery makes every 16th key the least urgent one instead of the most urgent one, so that no key starves.
const leastUrgentEvery = 16

// priorityQueue orders keys: by priority, and first in, first out within a priority. Its callers hold a lock during each call.
type priorityQueue struct {
	// priorityOf is called when a key is added, and again if the key is added once more while it is queued.
	priorityOf func(cache.ObjectName) priority
	// fifos has one FIFO for each priority. A key that has moved up also stays in its old FIFO, where Pop skips it.
	fifos [priorities][]cache.ObjectName
	// queued has the current priority of each queued key.
	queued map[cache.ObjectName]priority
	// pops counts the calls to Pop.
	pops int
}

var _ workqueue.Queue[cache.ObjectName] = &priorityQueue{}

func newPriorityQueue(priorityOf func(cache.ObjectName) priority) *priorityQueue {
	return &priorityQueue{priorityOf: priorityOf, queued: map[cache.ObjectName]priority{}}
}

// Push adds a key that is not in the queue.
func (q *priorityQueue) Push(key cache.ObjectName) {
	p := q.priorityOf(key)
	q.queued[key] = p
	q.fifos[p] = append(q.fifos[p], key)
}

// Touch moves a key up if it has become more urgent.
func (q *priorityQueue) Touch(key cache.ObjectName) {
	if p, found := q.queued[key]; found && q.priorityOf(key) < p {
		q.Push(key)
	}
}

// Len returns the number of keys in the queue.
func (q *priorityQueue) Len() int { return len(q.queued) }

// Pop removes the next key. There has to be one.
func (q *priorityQueue) Pop() cache.ObjectName {
	q.pops++
	for i := range priorities {
		p := i
		if q.pops%leastUrgentEvery == 0 {
			p = priorities - 1 - i
		}
		if key, found := q.popOf(p); found {
			return key
		}
	}
	return cache.ObjectName{}
}

func (q *priorityQueue) popOf(p priority) (cache.ObjectName, bool) {
	for len(q.fifos[p]) > 0 {
		key := q.fifos[p][0]
		q.fifos[p] = q.fifos[p][1:]
		if present, found := q.queued[key]; found && present == p {
			delete(q.queued, key)
			return key, true
		}
	}
	q.fifos[p] = nil // frees the array
	return cache.ObjectName{}, false
}
