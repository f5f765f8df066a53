package faults

import (
	"context"
	"io"
	"sync"
)

// openWatch can be cut.
type openWatch struct {
	request Request
	cut     context.CancelFunc
}

// Stall is a standstill of watches: they stay open, and nothing comes. End it with Resume or Cut.
type Stall struct {
	proxy *Proxy
	match func(Request) bool
	over  chan struct{}
	once  sync.Once
}

// Stall stops the bytes of the watches that match, those open now and those opened before it ends.
func (p *Proxy) Stall(match func(Request) bool) *Stall {
	stall := &Stall{proxy: p, match: match, over: make(chan struct{})}
	p.mu.Lock()
	p.stalls[stall] = true
	p.mu.Unlock()
	p.note("stall", Request{Verb: "watch"}, "stalled")
	return stall
}

// Resume lets all that was held back flow.
func (s *Stall) Resume() {
	s.end("resumed")
}

// Cut ends the watches instead; what was held back is lost to them.
func (s *Stall) Cut() {
	s.proxy.CutWatches(s.match)
	s.end("ended")
}

func (s *Stall) end(did string) {
	s.once.Do(func() {
		s.proxy.mu.Lock()
		delete(s.proxy.stalls, s)
		s.proxy.mu.Unlock()
		s.proxy.note("stall", Request{Verb: "watch"}, did)
		close(s.over)
	})
}

// CutWatches breaks the open watches that match, and tells how many there were. Clients are free to come back.
func (p *Proxy) CutWatches(match func(Request) bool) int {
	var cut []Request
	p.mu.Lock()
	for w := range p.watches {
		if match(w.request) {
			w.cut()
			cut = append(cut, w.request)
		}
	}
	p.mu.Unlock()
	for _, request := range cut {
		p.note("cut", request, "cut the watch")
	}
	return len(cut)
}

// opened notes a watch, and returns what forgets it.
func (p *Proxy) opened(w *openWatch) (closed func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watches[w] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watches, w)
	}
}

func (p *Proxy) stallOf(request Request) *Stall {
	p.mu.Lock()
	defer p.mu.Unlock()
	for stall := range p.stalls {
		if stall.match(request) {
			return stall
		}
	}
	return nil
}

// stallable is the body of a watch's answer. It looks for a stall after reading: an event that comes while the read
// waits must not slip through.
type stallable struct {
	io.ReadCloser
	ctx     context.Context // the watch's; a reader has no other way to learn that it was cut
	proxy   *Proxy
	request Request
}

func (s *stallable) Read(buffer []byte) (int, error) {
	n, err := s.ReadCloser.Read(buffer)
	for stall := s.proxy.stallOf(s.request); stall != nil && s.ctx.Err() == nil; stall = s.proxy.stallOf(s.request) {
		select {
		case <-stall.over:
		case <-s.ctx.Done():
		}
	}
	if s.ctx.Err() != nil {
		return 0, s.ctx.Err()
	}
	return n, err
}
