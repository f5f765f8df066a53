package syncstate

import (
	"bytes"
	"encoding/json"
	rand "math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// State is what one sync of a PodManager leaves for the next. Only the worker that has the key uses it, except for the Tracker and the Names.
type State struct {
	consistency.Tracker
	Names
	// ReadLive makes the next sync read live, because the cache was found to be wrong or old.
	ReadLive bool
	// PodsAsOf is a time at which the known state of the pods was current. A live read sets it, and so does a sync that creates pods, because
	// the next sync waits until the caches show these pods.
	PodsAsOf time.Time
	// backoffs are the backoffs of requests that the API server has refused. They apply to one generation of one PodManager.
	backoffs          map[requeue.BackoffKey]requeue.Backoff
	backoffUID        types.UID
	backoffGeneration int64
	// revisions are what the last plan for the PodManager with this UID asked to remember.
	uid       types.UID
	revisions []*history.Revision
	// reported has the kinds of failures that events have warned about since requests last succeeded, each with the version of the PodManager that
	// the first of these events was about. ReportedForeign has the names of foreign pods that events have warned about. ReportedStatus means that an
	// event has warned about a status that cannot be written.
	reported        map[requeue.Failure]*corev1.ObjectReference
	ReportedForeign []string
	ReportedStatus  bool
	// Pace limits how often the status is written.
	Pace status.Pace
	// written is the last status that was written, and kept is what the API server kept of it. Both are nil unless it kept less, which
	// happens if the CRD is older than the controller.
	written, kept *v1.PodManagerStatus
	// changed has the objects that the current plan has found changed or gone. changedBefore has those of the previous plan.
	changed, changedBefore map[string]bool
}

// Remember keeps the revisions that a plan asks to remember until the next plan.
func (m *State) Remember(manager *v1.PodManager, decided plan.Plan) {
	m.uid, m.revisions = manager.UID, decided.Remember
}

// Remembered returns the revisions of the last plan, if that was for the same PodManager.
func (m *State) Remembered(manager *v1.PodManager) []*history.Revision {
	if manager.UID != m.uid {
		return nil
	}
	return m.revisions
}

// BeginPlan records that the next plan is being carried out.
func (m *State) BeginPlan() { m.changed, m.changedBefore = nil, m.changed }

// FoundChanged records that the current plan has found an object changed or gone, and reports whether the previous plan has, too.
func (m *State) FoundChanged(object string) bool {
	if m.changed == nil {
		m.changed = map[string]bool{}
	}
	m.changed[object] = true
	return m.changedBefore[object]
}

// NoteStatus records a status that was written, and what the API server kept of it. It returns true if the API server dropped a part, unless it
// already dropped a part of the status before.
func (m *State) NoteStatus(written, kept *v1.PodManagerStatus) bool {
	wasLost := m.written != nil
	if m.written, m.kept = written, kept; isSameJSON(written, kept) {
		m.written, m.kept = nil, nil
	}
	return m.written != nil && !wasLost
}

// isSameJSON reports whether two statuses are the same when encoded. Encoding drops fractions of a second, for example.
func isSameJSON(a, b *v1.PodManagerStatus) bool {
	encodedA, errA := json.Marshal(a)
	encodedB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(encodedA, encodedB)
}

// WithWholeStatus returns a PodManager with the status that was written, if the API server kept only a part of it. Otherwise the controller
// would write the same status again and again.
func (m *State) WithWholeStatus(manager *v1.PodManager) *v1.PodManager {
	if m.written == nil || manager == nil || status.Differs(&manager.Status, m.kept) {
		return manager
	}
	whole := *manager
	whole.Status = *m.written.DeepCopy()
	return &whole
}

// Refuse starts or extends the backoff for requests of a kind. It returns when the backoff is over.
func (m *State) Refuse(key requeue.BackoffKey, failure requeue.Failure, manager *v1.PodManager, now time.Time) time.Time {
	if m.BackoffsOf(manager) == nil {
		m.backoffs, m.backoffUID, m.backoffGeneration = map[requeue.BackoffKey]requeue.Backoff{}, manager.UID, manager.Generation
	}
	m.backoffs[key] = m.backoffs[key].Refused(failure, now, rand.Float64())
	return m.backoffs[key].Until
}

// Accept ends the backoff for requests of a kind.
func (m *State) Accept(key requeue.BackoffKey) {
	delete(m.backoffs, key)
}

// BackoffsOf returns the backoffs of a PodManager. An edit of the spec ends all earlier backoffs.
func (m *State) BackoffsOf(manager *v1.PodManager) map[requeue.BackoffKey]requeue.Backoff {
	if m.backoffUID != manager.UID || m.backoffGeneration != manager.Generation {
		return nil
	}
	return m.backoffs
}

// maxReported limits how many kinds of failures are remembered. Messages of webhooks may be new each time.
const maxReported = 16

// ReportFailure records that an event warns about a failure. It returns the object of that event, and whether the failure is news. A failure that is
// not news has the object of its first event: client-go counts events only if they are about the same version of the object, and
// each status write makes another version.
func (m *State) ReportFailure(failure requeue.Failure, manager *v1.PodManager) (about *corev1.ObjectReference, isNews bool) {
	kind := failure.Kind()
	if known := m.reported[kind]; known != nil && known.UID == manager.UID {
		return known, false
	}
	if m.reported == nil || len(m.reported) >= maxReported {
		m.reported = map[requeue.Failure]*corev1.ObjectReference{}
	}
	m.reported[kind] = &corev1.ObjectReference{
		APIVersion: v1.GroupVersion.String(), Kind: v1.Kind, Namespace: manager.Namespace, Name: manager.Name, UID: manager.UID,
		ResourceVersion: manager.ResourceVersion,
	}
	return m.reported[kind], true
}

// ReportSuccess records that no request fails any more.
func (m *State) ReportSuccess() { m.reported = nil }

// Store has the state of each PodManager.
type Store struct {
	mu    sync.Mutex
	byKey map[cache.ObjectName]*State
}

func New() *Store {
	return &Store{byKey: map[cache.ObjectName]*State{}}
}

func (m *Store) Of(key cache.ObjectName) *State {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.byKey[key]
	if !ok {
		found = &State{}
		m.byKey[key] = found
	}
	return found
}

// IsRefused reports whether the API server refuses requests of the last plan for a PodManager.
func (m *Store) IsRefused(key cache.ObjectName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.byKey[key]
	return ok && len(found.reported) > 0
}

func (m *Store) Forget(key cache.ObjectName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, key)
}
