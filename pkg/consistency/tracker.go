package consistency

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// Resource is a kind of object that is written and watched, such as "pods".
type Resource string

// echoLifetime is how long the answer to "was that my own write?" is kept for an event that never comes, because a
// relist skipped it.
const echoLifetime = time.Minute

// Tracker remembers what was written for each owner. It is safe for concurrent use.
type Tracker struct {
	mu     sync.Mutex
	owners map[cache.ObjectName]*record
}

// record is what is known about one owner's writes.
type record struct {
	// newest is the highest resourceVersion written, by resource.
	newest map[Resource]string
	// since is when the first of them was written that the stores were not seen to have; zero while there is none.
	since time.Time
	// echoes are own writes whose events have not been seen yet.
	echoes map[echo]time.Time
	// unsettled are names of objects whose create had an unknown outcome.
	unsettled map[string]bool
}

func (r *record) saw(resource Resource, version string, now time.Time) {
	if r.since.IsZero() {
		r.since = now
	}
	if newest, found := r.newest[resource]; !found || IsNewer(version, newest) {
		r.newest[resource] = version
	}
}

type echo struct {
	resource Resource
	version  string
}

// NewTracker returns a Tracker that knows of no writes.
func NewTracker() *Tracker {
	return &Tracker{owners: map[cache.ObjectName]*record{}}
}

// Saw notes that owner's objects were read, past the store, at this resourceVersion: the store has to catch up with it.
func (t *Tracker) Saw(owner cache.ObjectName, resource Resource, version string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.record(owner).saw(resource, version, now)
}

// Wrote notes that a write for owner was answered with this resourceVersion, and that there is nothing in the answer
// that the writer did not know: the event that shows it is an echo.
func (t *Tracker) Wrote(owner cache.ObjectName, resource Resource, version string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.record(owner)
	r.saw(resource, version, now)
	for old, since := range r.echoes {
		if now.Sub(since) > echoLifetime {
			delete(r.echoes, old)
		}
	}
	r.echoes[echo{resource, version}] = now
}

// IsEcho tells, once for each write, whether an event shows nothing but what this process itself wrote for owner.
func (t *Tracker) IsEcho(owner cache.ObjectName, resource Resource, version string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, found := t.owners[owner]
	if !found {
		return false
	}
	_, own := r.echoes[echo{resource, version}]
	delete(r.echoes, echo{resource, version})
	return own
}

// Behind tells for how long the stores have not shown all of owner's writes; it is false once they do. seen is how far
// each store is.
func (t *Tracker) Behind(owner cache.ObjectName, seen map[Resource]string, now time.Time) (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, found := t.owners[owner]
	if !found {
		return 0, false
	}
	for resource, written := range r.newest {
		if IsNewer(written, seen[resource]) {
			return now.Sub(r.since), true
		}
	}
	r.since = time.Time{}
	clear(r.newest)
	return 0, false
}

// Waiting tells whether there are writes that the stores have not been seen to show.
func (t *Tracker) Waiting(owner cache.ObjectName) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, found := t.owners[owner]
	return found && len(r.newest) > 0
}

// ReadLive notes that all of owner's objects were just read from the API server itself, at these versions. What was
// written before is in them; and if the server has gone back in time, the old versions will never be seen again.
func (t *Tracker) ReadLive(owner cache.ObjectName, versions map[Resource]string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.record(owner)
	r.since = now
	for resource, version := range versions {
		r.newest[resource] = version
	}
}

// Unknown notes that nobody knows whether the object with this name was created.
func (t *Tracker) Unknown(owner cache.ObjectName, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.record(owner).unsettled[name] = true
}

// Unsettled are the names that Unknown was told and Settled was not.
func (t *Tracker) Unsettled(owner cache.ObjectName) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, found := t.owners[owner]
	if !found {
		return nil
	}
	names := make([]string, 0, len(r.unsettled))
	for name := range r.unsettled {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Settled notes that a live look has told what became of the name.
func (t *Tracker) Settled(owner cache.ObjectName, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, found := t.owners[owner]; found {
		delete(r.unsettled, name)
	}
}

// Forget drops all that is known about an owner that is gone.
func (t *Tracker) Forget(owner cache.ObjectName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.owners, owner)
}

// record returns the owner's record, a new one if need be. The lock is held.
func (t *Tracker) record(owner cache.ObjectName) *record {
	r, found := t.owners[owner]
	if !found {
		r = &record{
			newest:    map[Resource]string{},
			echoes:    map[echo]time.Time{},
			unsettled: map[string]bool{},
		}
		t.owners[owner] = r
	}
	return r
}

// IsNewer tells whether version a comes after b. A store that has not told a version yet has seen nothing. Versions
// that cannot be compared are no reason to wait: the server does not number its objects the way that this relies on.
func IsNewer(a, b string) bool {
	if b == "" {
		return a != ""
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}
