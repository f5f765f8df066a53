package memory

import (
	rand "math/rand/v2"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// Memory is what one sync of a PodManager leaves for the next. Only the worker that has the key uses it.
type Memory struct {
	// ReadLive makes the next sync read live: the cache was found to be wrong.
	ReadLive bool
	// LiveReads is how many syncs in a row have read live because the cache stays behind.
	LiveReads int
	// holds keep requests that the API server has refused from being repeated too soon. They are for one generation.
	holds          map[requeue.HoldKey]requeue.Hold
	holdGeneration int64
	// revisions are what the last plan for the PodManager with this UID asked to remember.
	uid       types.UID
	revisions []*history.Revision
	// CurrentRevision is the last good revision, to be stored again if somebody deletes it.
	CurrentRevision *appsv1.ControllerRevision
	// ReportedFailure is the failure in the last warning event. ReportedForeign are the names of foreign pods that events have warned about, ReportedStatus
	// tells that an event has warned about a status that cannot be written.
	ReportedFailure *requeue.Failure
	ReportedForeign []string
	ReportedStatus  bool
	// Taken has the pod names that pods outside the cache use.
	Taken map[string]takenName
	// Pace limits how often the status is written.
	Pace status.Pace
	// UncertainEnd is the end of a rollout that may have been written: the answer was lost.
	UncertainEnd *status.End
	// recentCreates is how many pods were created since the last failure, up to lastCreatesAt.
	recentCreates int
	lastCreatesAt time.Time
}

// takenName is a name that a pod outside the cache uses.
type takenName struct {
	// foreign tells that users should know about the pod.
	foreign bool
	Recheck time.Time
	backoff time.Duration
}

// The backoff of rechecking a taken name doubles from minRecheck to maxRecheck.
const minRecheck, maxRecheck = 5 * time.Second, 5 * time.Minute

// NoteTakenName notes that a name is taken, and when to recheck it.
func (m *Memory) NoteTakenName(name string, foreign bool, now time.Time) {
	if m.Taken == nil {
		m.Taken = map[string]takenName{}
	}
	backoff := max(minRecheck, min(2*m.Taken[name].backoff, maxRecheck))
	m.Taken[name] = takenName{foreign: foreign, Recheck: now.Add(backoff), backoff: backoff}
}

// NextRecheck is when the next taken name has to be rechecked.
func (m *Memory) NextRecheck() (next requeue.LookAgain) {
	for _, taken := range m.Taken {
		next = next.Sooner(requeue.LookAgain{At: taken.Recheck, Why: requeue.AgainName})
	}
	return next
}

// TakenNames are the taken names, as plan.Observed wants them: the value tells whether the pod is foreign.
func (m *Memory) TakenNames() map[string]bool {
	names := make(map[string]bool, len(m.Taken))
	for name, taken := range m.Taken {
		names[name] = taken.foreign
	}
	return names
}

// Remember keeps the revisions that a plan asks to remember until the next plan.
func (m *Memory) Remember(manager *v1.PodManager, decided plan.Plan) {
	m.uid, m.revisions = manager.UID, decided.Remember
}

// Remembered returns the revisions of the last plan, if that was for the same PodManager.
func (m *Memory) Remembered(manager *v1.PodManager) []*history.Revision {
	if manager.UID != m.uid {
		return nil
	}
	return m.revisions
}

// recentFor is how long successful creates let the next slow start begin with more than one pod. Syncs follow one another quickly
// while there are more pods to create.
const recentFor = 5 * time.Second

// SlowStartSize is how many creates a slow start begins with: one, and one more for each recent create.
func (m *Memory) SlowStartSize(now time.Time) int {
	if now.Sub(m.lastCreatesAt) > recentFor {
		m.recentCreates = 0
	}
	return 1 + m.recentCreates
}

// NoteCreates notes how many pods were created, and whether all creates succeeded.
func (m *Memory) NoteCreates(created int, allSucceeded bool, now time.Time) {
	if allSucceeded {
		m.recentCreates += created
	} else {
		m.recentCreates = 0
	}
	m.lastCreatesAt = now
}

// Refuse starts or prolongs the hold on requests of a kind. It returns when the hold ends.
func (m *Memory) Refuse(key requeue.HoldKey, failure requeue.Failure, generation int64, now time.Time) time.Time {
	if m.HoldsOf(generation) == nil {
		m.holds, m.holdGeneration = map[requeue.HoldKey]requeue.Hold{}, generation
	}
	m.holds[key] = m.holds[key].Refused(failure, now, rand.Float64())
	return m.holds[key].Until
}

// Accept ends the hold on requests of a kind.
func (m *Memory) Accept(key requeue.HoldKey) {
	delete(m.holds, key)
}

// HoldsOf returns the holds of a generation: an edit of the spec ends all earlier holds.
func (m *Memory) HoldsOf(generation int64) map[requeue.HoldKey]requeue.Hold {
	if m.holdGeneration != generation {
		return nil
	}
	return m.holds
}

// Memories has the memory of each PodManager.
type Memories struct {
	mu    sync.Mutex
	byKey map[cache.ObjectName]*Memory
}

func New() *Memories {
	return &Memories{byKey: map[cache.ObjectName]*Memory{}}
}

func (m *Memories) Of(key cache.ObjectName) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.byKey[key]
	if !ok {
		found = &Memory{}
		m.byKey[key] = found
	}
	return found
}

func (m *Memories) Forget(key cache.ObjectName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, key)
}
