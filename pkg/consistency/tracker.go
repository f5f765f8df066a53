package consistency

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// Resource is a resource that the controller writes and watches, such as "pods".
type Resource string

// Tracker remembers the writes for each owner. It is safe for concurrent use.
type Tracker struct {
	mu     sync.Mutex
	owners map[cache.ObjectName]*ownerRecord
}

// ownerRecord holds the writes for one owner. The Tracker drops an empty record.
type ownerRecord struct {
	// newest is the highest resourceVersion written or read live, by resource. The stores need not catch up with a resource that has no
	// entry.
	newest map[Resource]string
	// since is when the stores fell behind: the time of the first entry in newest. It is zero while newest is empty.
	since time.Time
	// unsettled has the names of objects whose fate only a live read can determine.
	unsettled map[string]bool
}

func (r *ownerRecord) saw(resource Resource, version string, now time.Time) {
	if r.since.IsZero() {
		r.since = now
	}
	if newest, found := r.newest[resource]; !found || IsNewer(version, newest) {
		r.newest[resource] = version
	}
}

func (r *ownerRecord) isEmpty() bool { return len(r.newest)+len(r.unsettled) == 0 }

// NewTracker returns a Tracker that knows of no writes.
func NewTracker() *Tracker {
	return &Tracker{owners: map[cache.ObjectName]*ownerRecord{}}
}

// Saw records that a write or a live read for owner returned this resourceVersion. The store has to catch up with it.
func (t *Tracker) Saw(owner cache.ObjectName, resource Resource, version string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recordOf(owner).saw(resource, version, now)
}

// Behind reports whether the stores are behind the writes and live reads of owner, and for how long. seen has the resourceVersion of
// each store.
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
	t.dropIfEmpty(owner, r)
	return 0, false
}

// Waiting reports whether owner has writes or live reads that Behind has not found in the stores yet.
func (t *Tracker) Waiting(owner cache.ObjectName) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, found := t.owners[owner]
	return found && len(r.newest) > 0
}

// ReadLive records a live read of all objects of owner. versions has the resourceVersions that the stores have to catch up with; a resource
// without one is up to date. The Tracker stops waiting for earlier writes: the live read includes them, or the API server has gone back in
// time and will never show them.
func (t *Tracker) ReadLive(owner cache.ObjectName, versions map[Resource]string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.recordOf(owner)
	r.since = time.Time{}
	clear(r.newest)
	for resource, version := range versions {
		if version != "" {
			r.saw(resource, version, now)
		}
	}
	t.dropIfEmpty(owner, r)
}

// MarkUnsettled records that only a live read can determine the fate of the object with this name: the response to its create was lost, or
// the object left the cache without a deletionTimestamp.
func (t *Tracker) MarkUnsettled(owner cache.ObjectName, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recordOf(owner).unsettled[name] = true
}

// Unsettled returns the names that were passed to MarkUnsettled and not yet to MarkSettled.
func (t *Tracker) Unsettled(owner cache.ObjectName) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, found := t.owners[owner]
	if !found {
		return nil
	}
	return slices.Sorted(maps.Keys(r.unsettled))
}

// MarkSettled records that a live read has determined the fate of the object with this name.
func (t *Tracker) MarkSettled(owner cache.ObjectName, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, found := t.owners[owner]; found {
		delete(r.unsettled, name)
		t.dropIfEmpty(owner, r)
	}
}

// Forget drops the record of a deleted owner.
func (t *Tracker) Forget(owner cache.ObjectName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.owners, owner)
}

// recordOf returns the record of owner, and creates one if there is none. The caller holds the lock.
func (t *Tracker) recordOf(owner cache.ObjectName) *ownerRecord {
	r, found := t.owners[owner]
	if !found {
		r = &ownerRecord{newest: map[Resource]string{}, unsettled: map[string]bool{}}
		t.owners[owner] = r
	}
	return r
}

// dropIfEmpty drops an empty record. The caller holds the lock.
func (t *Tracker) dropIfEmpty(owner cache.ObjectName, r *ownerRecord) {
	if r.isEmpty() {
		delete(t.owners, owner)
	}
}

// IsNewer reports whether resourceVersion a is newer than b. An empty b means that the store has seen nothing. If the versions cannot be
// compared, IsNewer returns false: such an API server has no ordered resourceVersions, so there is nothing to wait for.
func IsNewer(a, b string) bool {
	if b == "" {
		return a != ""
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}
