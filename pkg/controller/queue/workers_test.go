package queue

import (
	"slices"
	"testing"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

func of(namespace string, count int) (keys []cache.ObjectName) {
	for i := range count {
		keys = append(keys, cache.NewObjectName(namespace, string(rune('a'+i))))
	}
	return keys
}

// begin begins to sync as many of the keys as possible.
func (a *Scheduler) begin(keys []cache.ObjectName) (begun int) {
	for _, key := range keys {
		if a.Begin(key) {
			begun++
		}
	}
	return begun
}

// However many syncs hang in some namespaces, another namespace gets a worker.
func TestWorkersAreDivided(t *testing.T) {
	a := New(clock.RealClock{}, everything)
	defer a.Workqueue.ShutDown()
	a.Employ(16)
	for i, want := range []int{8, 4, 2, 1, 1} {
		if got := a.begin(of(string(rune('A'+i)), 20)); got != want {
			t.Errorf("namespace %d has %d workers, want %d", i, got, want)
		}
	}
}

// A single worker is enough for a namespace.
func TestOneWorker(t *testing.T) {
	a := New(clock.RealClock{}, everything)
	defer a.Workqueue.ShutDown()
	a.Employ(1)
	for _, key := range of("ns", 3) {
		if !a.Begin(key) {
			t.Errorf("the key %v does not get the only worker, although it is idle", key)
		}
		a.End(key)
	}
}

// No waiting key is lost: each is queued again when a sync in its namespace ends, the most urgent ones first.
func TestWaitingKeysAreQueuedAgain(t *testing.T) {
	a := New(clock.RealClock{}, everything)
	defer a.Workqueue.ShutDown()
	a.Employ(2)
	keys := of("ns", 9)
	for _, key := range keys {
		a.update(key, func(e *entry) { e.triggers = []Trigger{TriggerStart} })
	}
	a.update(keys[7], func(e *entry) { e.triggers = []Trigger{TriggerManagerChanged} })
	if got := a.begin(keys); got != 1 {
		t.Fatalf("%d syncs have begun, want 1", got)
	}
	a.begin(keys[1:3]) // events for keys that are waiting already
	var order []string
	for running := keys[0]; ; {
		a.Take(running)
		a.End(running)
		if a.Workqueue.Len() == 0 {
			break
		}
		for a.Workqueue.Len() > 0 {
			key, _ := a.Workqueue.Get()
			if a.Begin(key) {
				running = key
				order = append(order, key.Name)
			}
			a.Workqueue.Done(key)
		}
	}
	slices.Sort(order[1:])
	if want := []string{"h", "b", "c", "d", "e", "f", "g", "i"}; !slices.Equal(order, want) {
		t.Errorf("the syncs began in the order %v, want %v", order, want)
	}
}
