package controller

import (
	"math/rand/v2"
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

// memory is what is remembered between two syncs of one PodManager. Losing it costs a request or two, never
// correctness. Only the worker that has the key uses it.
type memory struct {
	// distrust makes the next sync read from the API server: the cache was found to be wrong.
	distrust bool
	// liveReads is how many syncs in a row have read from the API server because the cache stays behind.
	liveReads int
	// holds are the refusals that keep requests from being repeated, for the generation in which they came.
	holds          map[requeue.HoldKey]requeue.Hold
	holdGeneration int64
	// revisions are what the last plan for the object with this UID asked to be remembered.
	uid       types.UID
	revisions []*history.Revision
	// good is the last good revision, to be stored again if somebody deletes it.
	good *appsv1.ControllerRevision
	// told is the failure that the last event was about, toldForeign the names of other people's pods.
	told        *requeue.Failure
	toldForeign []string
	toldStatus  bool
	// taken are names that pods have which are not watched, with when to look again; the value tells whether it is worth telling.
	taken map[string]takenName
	// pace is that of writing the status.
	pace status.Pace
	// wentWell is how many pods were created without a failure up to a moment ago.
	wentWell   int
	wentWellAt time.Time
}

// takenName is a name that somebody else's pod has.
type takenName struct {
	foreign bool
	recheck time.Time
	wait    time.Duration
}

// A name in other hands is looked at again after this long, then ever later.
const firstRecheck, lastRecheck = 5 * time.Second, 5 * time.Minute

// take notes that a name is in other hands.
func (m *memory) take(name string, foreign bool, now time.Time) {
	if m.taken == nil {
		m.taken = map[string]takenName{}
	}
	wait := max(firstRecheck, min(2*m.taken[name].wait, lastRecheck))
	m.taken[name] = takenName{foreign: foreign, recheck: now.Add(wait), wait: wait}
}

// nextRecheck is when the first of these names is to be looked at again.
func (m *memory) nextRecheck() (next requeue.LookAgain) {
	for _, taken := range m.taken {
		next = next.Sooner(requeue.LookAgain{At: taken.recheck, Why: requeue.AgainName})
	}
	return next
}

// takenNames are the names in other hands, as the plan wants them.
func (m *memory) takenNames() map[string]bool {
	names := make(map[string]bool, len(m.taken))
	for name, taken := range m.taken {
		names[name] = taken.foreign
	}
	return names
}

// remember keeps what a plan asks for until the next one.
func (m *memory) remember(manager *v1.PodManager, decided plan.Plan) {
	m.uid, m.revisions = manager.UID, decided.Remember
}

// remembered is the same for the next plan, if that is for the same object.
func (m *memory) remembered(manager *v1.PodManager) []*history.Revision {
	if manager.UID != m.uid {
		return nil
	}
	return m.revisions
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

// refuse starts, or prolongs, the hold on requests of a kind. It returns until when.
func (m *memory) refuse(key requeue.HoldKey, failure requeue.Failure, generation int64, now time.Time) time.Time {
	if m.holdsOf(generation) == nil {
		m.holds, m.holdGeneration = map[requeue.HoldKey]requeue.Hold{}, generation
	}
	m.holds[key] = m.holds[key].Refused(failure, now, rand.Float64())
	return m.holds[key].Until
}

// accept ends the hold on requests of a kind.
func (m *memory) accept(key requeue.HoldKey) {
	delete(m.holds, key)
}

// holdsOf are the holds that still stand; a changed spec gets a fresh try.
func (m *memory) holdsOf(generation int64) map[requeue.HoldKey]requeue.Hold {
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
