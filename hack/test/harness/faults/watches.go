package faults

import (
	"context"
	"io"
	"sync"
)

// openWatch is a watch that can be cut.
type openWatch struct {
	request Request
	cut     context.CancelFunc
}

// Stall is a stall of watches: they stay open, but no events arrive. Resume or Cut ends it.
type Stall struct {
	proxy *Proxy
	match func(Request) bool
	over  chan struct{}
	once  sync.Once
}

// Stall holds back the bytes of the matching watches, including watches that are opened during the stall.
func (p *Proxy) Stall(match func(Request) bool) *Stall {
	stall := &Stall{proxy: p, match: match, over: make(chan struct{})}
	p.mu.Lock()
	p.stalls[stall] = true
	p.mu.Unlock()
	p.note("stall", Request{Verb: "watch"}, "stalled")
	return stall
}

// Resume releases the bytes that the stall has held back.
func (s *Stall) Resume() {
	s.end("resumed")
}

// Cut ends the stall by breaking the matching watches. The bytes that the stall has held back are lost.
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

// CutWatches breaks the open watches that match, and returns how many there were. Clients may open new ones.
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

// opened registers a watch, and returns the function that removes it.
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

// stallable is the body of a watch's answer. It checks for a stall after reading, because an event that arrives while the read waits must not slip
// through.
type stallable struct {
	io.ReadCloser
	ctx     context.Context // the watch's: Read has no context parameter, and must end when the watch is cut
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
