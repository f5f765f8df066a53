package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// gcPercent replaces Go's GOGC of 100. Most of the heap is caches, which stay: with 100 the heap would grow to twice their size before it
// is collected.
const gcPercent = 50

// While the caches fill, the heap grows, and each time that it has grown by gcPercent the garbage collector would look at all of it: a
// quarter of the CPU of a start. So it runs less often until the first syncs are through, as long as the heap is small.
const (
	startGCPercent = 300
	// startHeap is how large the live heap may be for that: about 20 000 pods.
	startHeap = 64 << 20
	// firstSyncs is how long the syncs take that a start is for.
	firstSyncs = 3 * time.Second
)

// spareGarbageCollector makes the garbage collector run less often until a moment after filled is closed. It leaves a GOGC of the user alone.
func spareGarbageCollector(ctx context.Context, filled <-chan struct{}) {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(startGCPercent)
	defer debug.SetGCPercent(usual)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	var over <-chan time.Time
	for liveHeap() < startHeap {
		select {
		case <-filled:
			filled, over = nil, time.After(firstSyncs)
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// liveHeap is what the last garbage collection has found in use.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
