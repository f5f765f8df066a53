package queue

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// priority is how soon a key is to leave the queue.
type priority int

const (
	// byUser: somebody has edited or deleted a PodManager, or made a new one, and is waiting.
	byUser priority = iota
	// byEvent: a pod has changed, or it is time; or a start has found something unfinished.
	byEvent
	// byBacklog: nothing is known to have changed, as with most of what a start or a resync brings; or only a status, most likely
	// by ourselves.
	byBacklog
	priorities
)

// evenTurn is how often the least urgent key is taken instead of the most urgent, so that no key waits for ever.
const evenTurn = 16

// priorityOf is the priority of a key that is queued for one reason.
func priorityOf(t Trigger) priority {
	switch t {
	case TriggerManagerAdded, TriggerManagerChanged, TriggerManagerDeleted:
		return byUser
	case TriggerStart, TriggerResync, TriggerStatusChanged:
		return byBacklog
	default:
		return byEvent
	}
}

// priorityQueue is the order in which keys leave the workqueue: by priority, and first come, first served within one.
// The workqueue holds its lock whenever it calls.
type priorityQueue struct {
	// urgency is asked when a key comes, and again when it comes once more before it was taken.
	urgency func(cache.ObjectName) priority
	// lines has a line for each priority. A key that has moved up leaves a gap behind that is skipped.
	lines [priorities][]cache.ObjectName
	// at is the line that each key really stands in.
	at    map[cache.ObjectName]priority
	turns int
}

var _ workqueue.Queue[cache.ObjectName] = &priorityQueue{}

func newPriorityQueue(urgency func(cache.ObjectName) priority) *priorityQueue {
	return &priorityQueue{urgency: urgency, at: map[cache.ObjectName]priority{}}
}

// Push adds a key that is not in the queue.
func (q *priorityQueue) Push(key cache.ObjectName) {
	line := q.urgency(key)
	q.at[key] = line
	q.lines[line] = append(q.lines[line], key)
}

// Touch moves a key up if it has become more urgent.
func (q *priorityQueue) Touch(key cache.ObjectName) {
	if line, queued := q.at[key]; queued && q.urgency(key) < line {
		q.Push(key)
	}
}

// Len is the number of keys in the queue.
func (q *priorityQueue) Len() int { return len(q.at) }

// Pop takes the next key. It is only called when there is one.
func (q *priorityQueue) Pop() cache.ObjectName {
	q.turns++
	for i := range priorities {
		line := i
		if q.turns%evenTurn == 0 {
			line = priorities - 1 - i
		}
		if key, found := q.popLine(line); found {
			return key
		}
	}
	return cache.ObjectName{}
}

func (q *priorityQueue) popLine(line priority) (cache.ObjectName, bool) {
	for len(q.lines[line]) > 0 {
		key := q.lines[line][0]
		q.lines[line] = q.lines[line][1:]
		if at, queued := q.at[key]; queued && at == line {
			delete(q.at, key)
			return key, true
		}
	}
	q.lines[line] = nil // lets the array go
	return cache.ObjectName{}, false
}
