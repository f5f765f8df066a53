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

// maxEchoes bounds how many own writes are remembered for the question "was that event mine?". An event whose write is
// forgotten counts as news, and costs a look that was not needed.
const maxEchoes = 32

// Tracker remembers what was written for each owner. It is safe for concurrent use.
type Tracker struct {
	mu     sync.Mutex
	owners map[cache.ObjectName]*record
}

// record is what is known about one owner's writes. It is dropped when there is nothing left to wait for.
type record struct {
	// newest is the highest resourceVersion written, by resource. What is absent need not be waited for.
	newest map[Resource]string
	// since is when the first of them was written that the stores were not seen to have; zero while there is none.
	since time.Time
	// echoes are own writes whose events have not been seen yet, the latest maxEchoes of them.
	echoes []echo
	// unsettled are names of objects of which only a live look tells what became of them.
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

func (r *record) isEmpty() bool { return len(r.newest)+len(r.echoes)+len(r.unsettled) == 0 }

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
	if len(r.echoes) == maxEchoes {
		r.echoes = slices.Delete(r.echoes, 0, 1)
	}
	r.echoes = append(r.echoes, echo{resource, version})
}

// IsEcho tells, once for each write, whether an event shows nothing but what this process itself wrote for owner.
func (t *Tracker) IsEcho(owner cache.ObjectName, resource Resource, version string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, found := t.owners[owner]
	if !found {
		return false
	}
	at := slices.Index(r.echoes, echo{resource, version})
	if at < 0 {
		return false
	}
	r.echoes = slices.Delete(r.echoes, at, at+1)
	t.tidy(owner, r)
	return true
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
	t.tidy(owner, r)
	return 0, false
}

// Waiting tells whether there are writes that the stores have not been seen to show.
func (t *Tracker) Waiting(owner cache.ObjectName) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, found := t.owners[owner]
	return found && len(r.newest) > 0
}

// ReadLive notes that all of owner's objects were just read from the API server itself, and which versions the stores have to
// catch up with for that; those that are not named show all of it already. What was written before is in what was read; and if
// the server has gone back in time, the old versions will never be seen again.
func (t *Tracker) ReadLive(owner cache.ObjectName, versions map[Resource]string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.record(owner)
	r.since = time.Time{}
	clear(r.newest)
	for resource, version := range versions {
		r.saw(resource, version, now)
	}
	t.tidy(owner, r)
}

// Unknown notes that only a live look can tell what became of the object with this name: the answer to its create was lost, or it
// vanished without having been seen to end.
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
		t.tidy(owner, r)
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
		r = &record{newest: map[Resource]string{}, unsettled: map[string]bool{}}
		t.owners[owner] = r
	}
	return r
}

// tidy drops a record that says nothing any more. The lock is held.
func (t *Tracker) tidy(owner cache.ObjectName, r *record) {
	if r.isEmpty() {
		delete(t.owners, owner)
	}
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
