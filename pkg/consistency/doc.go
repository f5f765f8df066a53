// Package consistency lets a controller read its own writes.
//
// An informer's store lags behind the writes of its own process. A decision based on the older state would repeat a write. The Tracker
// remembers the resourceVersion of each write per owner. A sync asks the Tracker whether the stores show all writes of the owner, and waits
// until they do. The Tracker replaces expectations, but with resourceVersions instead of counts. It lives in memory: after a restart the
// caches are filled anew, and the deterministic names of pods prevent duplicates.
//
// The Tracker holds no stores and no clients: the caller passes the resourceVersion of each store.
package consistency
