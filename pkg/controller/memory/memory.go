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

// Memory is what is remembered between two syncs of one PodManager. Losing it costs a request or two, never
// correctness. Only the worker that has the key uses it.
type Memory struct {
	// distrust makes the next sync read from the API server: the cache was found to be wrong.
	Distrust bool
	// liveReads is how many syncs in a row have read from the API server because the cache stays behind.
	LiveReads int
	// holds are the refusals that keep requests from being repeated, for the generation in which they came.
	holds          map[requeue.HoldKey]requeue.Hold
	holdGeneration int64
	// revisions are what the last plan for the object with this UID asked to be remembered.
	uid       types.UID
	revisions []*history.Revision
	// good is the last good revision, to be stored again if somebody deletes it.
	Good *appsv1.ControllerRevision
	// told is the failure that the last event was about, toldForeign the names of other people's pods.
	Told        *requeue.Failure
	ToldForeign []string
	ToldStatus  bool
	// taken are names that pods have which are not watched, with when to look again; the value tells whether it is worth telling.
	Taken map[string]takenName
	// pace is that of writing the status.
	Pace status.Pace
	// wentWell is how many pods were created without a failure up to a moment ago.
	wentWell   int
	wentWellAt time.Time
}

// takenName is a name that somebody else's pod has.
type takenName struct {
	foreign bool
	Recheck time.Time
	wait    time.Duration
}

// A name in other hands is looked at again after this long, then ever later.
const firstRecheck, lastRecheck = 5 * time.Second, 5 * time.Minute

// Take notes that a name is in other hands.
func (m *Memory) Take(name string, foreign bool, now time.Time) {
	if m.Taken == nil {
		m.Taken = map[string]takenName{}
	}
	wait := max(firstRecheck, min(2*m.Taken[name].wait, lastRecheck))
	m.Taken[name] = takenName{foreign: foreign, Recheck: now.Add(wait), wait: wait}
}

// NextRecheck is when the first of these names is to be looked at again.
func (m *Memory) NextRecheck() (next requeue.LookAgain) {
	for _, taken := range m.Taken {
		next = next.Sooner(requeue.LookAgain{At: taken.Recheck, Why: requeue.AgainName})
	}
	return next
}

// TakenNames are the names in other hands, as the plan wants them.
func (m *Memory) TakenNames() map[string]bool {
	names := make(map[string]bool, len(m.Taken))
	for name, taken := range m.Taken {
		names[name] = taken.foreign
	}
	return names
}

// Remember keeps what a plan asks for until the next one.
func (m *Memory) Remember(manager *v1.PodManager, decided plan.Plan) {
	m.uid, m.revisions = manager.UID, decided.Remember
}

// Remembered is the same for the next plan, if that is for the same object.
func (m *Memory) Remembered(manager *v1.PodManager) []*history.Revision {
	if manager.UID != m.uid {
		return nil
	}
	return m.revisions
}

// trustFor is how long it counts that creating pods went well. A sync follows upon the other while there are more to create.
const trustFor = 5 * time.Second

// TrustIn is how many pods can be created at a time to begin with.
func (m *Memory) TrustIn(now time.Time) int {
	if now.Sub(m.wentWellAt) > trustFor {
		m.wentWell = 0
	}
	return 1 + m.wentWell
}

// Trust notes how creating pods went.
func (m *Memory) Trust(created int, well bool, now time.Time) {
	if well {
		m.wentWell += created
	} else {
		m.wentWell = 0
	}
	m.wentWellAt = now
}

// Refuse starts, or prolongs, the hold on requests of a kind. It returns until when.
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

// HoldsOf are the holds that still stand; a changed spec gets a fresh try.
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
