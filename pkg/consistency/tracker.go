package consistency

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Resource is a resource that the controller writes and watches, such as "pods".
type Resource string

// Tracker remembers the writes for one owner. The zero value knows of none. It is safe for concurrent use.
type Tracker struct {
	mu sync.Mutex
	// newest is the highest resourceVersion written or read live, by resource. A resource without an entry has nothing
	// that its store must catch up with.
	newest map[Resource]string
	// since is when the stores fell behind: the time of the first entry in newest. It means nothing while newest is empty.
	since time.Time
}

// Saw records that a write or a live read returned this resourceVersion. The store has to catch up with it.
func (t *Tracker) Saw(resource Resource, version string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.newest) == 0 {
		t.newest, t.since = map[Resource]string{}, now
	}
	if newest, found := t.newest[resource]; !found || IsNewer(version, newest) {
		t.newest[resource] = version
	}
}

// Behind reports whether the stores are behind the writes and live reads, and for how long. seen has the resourceVersion of each store.
func (t *Tracker) Behind(seen map[Resource]string, now time.Time) (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for resource, written := range t.newest {
		if IsNewer(written, seen[resource]) {
			return now.Sub(t.since), true
		}
	}
	t.newest = nil
	return 0, false
}

// Waiting reports whether there are writes or live reads that Behind has not found in the stores yet.
func (t *Tracker) Waiting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.newest) > 0
}

// RecordLive records a live read of all objects of the owner. versions has the resourceVersions that the stores have to catch up with; a
// resource without one is up to date. The Tracker stops waiting for earlier writes: the live read includes them, or the API server has gone
// back in time and will never show them.
func (t *Tracker) RecordLive(versions map[Resource]string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newest, t.since = maps.Clone(versions), now
	maps.DeleteFunc(t.newest, func(_ Resource, version string) bool { return version == "" })
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
