package main

import (
	"context"
	"sync"
	"time"

	"github.com/mycompany/podmanager/hack/lab"
)

// pulse measures again and again how long a write takes. A machine that is busy for a moment makes everything take longer, and the limits
// of the judges have to allow for that.
type pulse struct {
	mu    sync.Mutex
	beats []beat
}

// beat is one write. The end is zero while it is under way.
type beat struct{ from, to time.Time }

// pulseEvery is how long the pulse waits between two writes.
const pulseEvery = 200 * time.Millisecond

// follow writes until ctx is done. A write that fails counts, too: it has taken its time.
func (p *pulse) follow(ctx context.Context, write func(context.Context) error) {
	for lab.Pause(ctx, pulseEvery) {
		p.mu.Lock()
		p.beats = append(p.beats, beat{from: time.Now()})
		last := len(p.beats) - 1
		p.mu.Unlock()
		_ = write(ctx)
		p.mu.Lock()
		p.beats[last].to = time.Now()
		p.mu.Unlock()
	}
}

// slowest is the longest that a write took which was under way between two times.
func (p *pulse) slowest(from, to time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	slowest := time.Duration(0)
	for _, b := range p.beats {
		end := b.to
		if end.IsZero() {
			end = time.Now()
		}
		if b.from.Before(to) && end.After(from) {
			slowest = max(slowest, end.Sub(b.from))
		}
	}
	return slowest
}
