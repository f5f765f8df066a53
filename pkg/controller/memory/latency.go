package memory

import (
	"math"
	"sync"
	"time"
)

// latencyHalfLife is how long it takes until half of the average is forgotten if nothing is written: how busy the API server was says little of
// how busy it is.
const latencyHalfLife = 10 * time.Second

// Latency has the durations of writes, which show how busy the API server is.
type Latency struct {
	mu sync.Mutex
	// average is a moving average, as of at.
	average time.Duration
	at      time.Time
	// fastest is what a write takes if nobody else wants anything: the way to the API server, and etcd's disk.
	fastest time.Duration
}

// Took adds a write that has just ended. The average so far counts for three quarters.
func (l *Latency) Took(duration time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fastest == 0 || duration < l.fastest {
		l.fastest = duration
	}
	average := l.averageAt(now)
	l.average, l.at = average+(duration-average)/4, now
}

// Congestion is how much longer than at best a write takes now.
func (l *Latency) Congestion(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, l.averageAt(now)-l.fastest)
}

func (l *Latency) averageAt(now time.Time) time.Duration {
	age := max(0, now.Sub(l.at))
	return time.Duration(float64(l.average) * math.Exp2(-float64(age)/float64(latencyHalfLife)))
}
