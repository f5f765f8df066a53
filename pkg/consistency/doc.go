// Package consistency lets a controller read its own writes.
//
// An informer's store lags behind the writes of its own process. A decision based on the older state would repeat a write. A Tracker remembers the
// resourceVersions of the writes for one owner. A sync asks the Tracker whether the stores show all of these writes, and waits until they do. Other
// controllers use expectations for this, which count events instead of comparing resourceVersions. A Tracker lives in memory: after a restart the
// caches are filled anew, and the deterministic names of pods prevent duplicates.
//
// A Tracker holds no stores and no clients: the caller passes the resourceVersion of each store.
package consistency
