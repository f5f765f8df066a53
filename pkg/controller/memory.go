package controller

import (
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/mycompany/podmanager/pkg/plan"
)

// memory is what is remembered between two syncs of one PodManager. Losing it costs a request or two, never
// correctness. Only the worker that has the key uses it.
type memory struct {
	// distrust makes the next sync read from the API server: the cache was found to be wrong.
	distrust bool
	// holds are the refusals that keep pods of a revision from being created, by hash, for the generation in which they
	// came.
	holds          map[string]plan.Hold
	holdGeneration int64
	// good is the last good revision, to be stored again if somebody deletes it.
	good *appsv1.ControllerRevision
	// told is the failure that the last event was about.
	told *plan.Failure
	// foreign are the names of other people's pods that an event was about.
	foreign []string
	// pace is that of writing the status.
	pace plan.StatusPace
	// wentWell is how many pods were created without a failure up to a moment ago.
	wentWell   int
	wentWellAt time.Time
}

// trustFor is how long it counts that creating pods went well. A sync follows upon the other while there are more to create.
const trustFor = 5 * time.Second

// trustIn is how many pods can be created at a time to begin with.
func (m *memory) trustIn(now time.Time) int {
	if now.Sub(m.wentWellAt) > trustFor {
		m.wentWell = 0
	}
	return 1 + m.wentWell
}

// trust notes how creating pods went.
func (m *memory) trust(created int, well bool, now time.Time) {
	if well {
		m.wentWell += created
	} else {
		m.wentWell = 0
	}
	m.wentWellAt = now
}

// refuse starts, or prolongs, the hold on creating pods of a revision. It returns until when.
func (m *memory) refuse(revision string, failure plan.Failure, generation int64, now time.Time) time.Time {
	if m.holdsOf(generation) == nil {
		m.holds, m.holdGeneration = map[string]plan.Hold{}, generation
	}
	m.holds[revision] = m.holds[revision].Refused(failure, now)
	return m.holds[revision].Until
}

// accept ends the hold on a revision.
func (m *memory) accept(revision string) {
	delete(m.holds, revision)
}

// holdsOf are the holds that still stand; a changed spec gets a fresh try.
func (m *memory) holdsOf(generation int64) map[string]plan.Hold {
	if m.holdGeneration != generation {
		return nil
	}
	return m.holds
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
