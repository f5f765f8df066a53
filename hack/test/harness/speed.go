package harness

import (
	"hash/fnv"
	"sync"
	"time"
)

// speed measures how much slower this machine is right now than the one on which the limits of the tests were chosen. A machine whose cores
// are taken by other programs is slow, too.
type speed struct {
	mu sync.Mutex
	// samples are how long the last pieces of work took, the newest last.
	samples []time.Duration
}

const (
	// sampleEvery is the pause between two pieces of work.
	sampleEvery = 200 * time.Millisecond
	// sampleCount is how many pieces count: those of the last ten seconds.
	sampleCount = 50
	// sampleTakes is how long a piece of work took on the machine on which the limits were chosen, while the tests ran on its two cores.
	sampleTakes = 4 * time.Millisecond
	// mostSlowdown bounds the factor: a limit that never ends is none.
	mostSlowdown = 10
)

// machine is measured while tests run.
var machine = &speed{}

// measure works until done is closed.
func (s *speed) measure(done <-chan struct{}) {
	block := make([]byte, 1<<18)
	for {
		began := time.Now()
		hash := fnv.New64a() // no processor has an instruction for it, so that all take about as long
		for range 4 {
			_, _ = hash.Write(block)
		}
		s.add(time.Since(began))
		select {
		case <-done:
			return
		case <-time.After(sampleEvery):
		}
	}
}

func (s *speed) add(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, took)
	s.samples = s.samples[max(0, len(s.samples)-sampleCount):]
}

// slowdown is at least 1. It goes by the mean: a single long pause of the machine delays a test by that pause, not by a multiple of it.
func (s *speed) slowdown() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.samples) == 0 {
		return 1
	}
	var sum time.Duration
	for _, sample := range s.samples {
		sum += sample
	}
	mean := sum / time.Duration(len(s.samples))
	return min(mostSlowdown, max(1, float64(mean)/float64(sampleTakes)))
}

// Scaled returns a duration as it should be on this machine at this moment: longer if the machine is slow. It is for limits, and for Leases and
// deadlines that a test must not miss only because the machine is slow.
func Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * machine.slowdown())
}
