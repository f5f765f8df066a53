package controller

import (
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/mycompany/podmanager/pkg/plan"
)

const (
	// A refused create is tried again after this long, then ever later. Each try is a request that is likely to fail.
	firstHold = time.Second
	lastHold  = time.Minute
)

// memory is what is remembered between two syncs of one PodManager. Losing it costs a request or two, never
// correctness. Only the worker that has the key uses it.
type memory struct {
	// distrust makes the next sync read from the API server: the cache was found to be wrong.
	distrust bool
	// hold is the refusal that keeps pods from being created, for the generation in which it came.
	hold           *plan.Hold
	holdFor        time.Duration
	holdGeneration int64
	// told is the failure that the last event was about.
	told *plan.Failure
	// foreign are the names of other people's pods that an event was about.
	foreign []string
	// statusWritten is when the status was last written.
	statusWritten time.Time
	// settling is until when the pods that were just created or deleted are given time.
	settling time.Time
}

// refuse starts, or prolongs, the hold on creating pods.
func (m *memory) refuse(failure plan.Failure, generation int64, now time.Time) {
	if m.hold == nil || m.holdGeneration != generation {
		m.holdFor = firstHold
	} else {
		m.holdFor = min(2*m.holdFor, lastHold)
	}
	m.holdGeneration = generation
	m.hold = &plan.Hold{Until: now.Add(m.holdFor), Failure: failure}
}

// holdOf is the hold that still stands; a changed spec gets a fresh try.
func (m *memory) holdOf(generation int64) *plan.Hold {
	if m.holdGeneration != generation {
		return nil
	}
	return m.hold
}

// memories has the memory of each PodManager.
type memories struct {
	mu    sync.Mutex
	byKey map[cache.ObjectName]*memory
}

func newMemories() *memories {
	return &memories{byKey: map[cache.ObjectName]*memory{}}
}

func (m *memories) of(key cache.ObjectName) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.byKey[key]
	if !ok {
		found = &memory{}
		m.byKey[key] = found
	}
	return found
}

func (m *memories) forget(key cache.ObjectName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, key)
}
