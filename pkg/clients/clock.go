package clients

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// notableOffset is by how much the clock of this machine has to be off for that to be logged.
const notableOffset = 10 * time.Second

// auditID is a header that API servers set on each answer, and proxies do not set on theirs.
const auditID = "Audit-Id"

// ServerClock shows the API server's time: the clock of this machine, corrected by what the Date headers of its answers prove. The times in objects
// come from the API server, and two replicas that follow each other may run on machines whose clocks differ by minutes. While the answers agree with
// the machine's clock, it shows the machine's time.
//
// The controller measures intervals with this clock, too, so it must not jump. From the last answer on it goes by the monotonic clock, which nothing
// sets. An answer that contradicts the earlier ones, because another API server has another clock, changes nothing until they are so old that clocks
// may have drifted apart, or until the machine's clock was set or the machine slept.
type ServerClock struct {
	local clock.PassiveClock

	mu sync.Mutex
	// isKnown is set after the first answer. The last one arrived at the local time at, which was the monotonic time mark. The API server's clock was
	// then ahead of the local one by at least least and at most most, and offset lies between them.
	isKnown             bool
	at, mark            time.Time
	least, most, offset time.Duration
}

func newServerClock(local clock.PassiveClock) *ServerClock { return &ServerClock{local: local} }

// Now returns the API server's time.
func (c *ServerClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isKnown {
		return c.local.Now()
	}
	return c.at.Add(c.offset + time.Since(c.mark))
}

// Since returns how long ago a time was.
func (c *ServerClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// drift is by which part of a time two clocks may drift apart in that time. A clock that NTP adjusts is faster or slower by half of that at most.
const drift = 1000

// learn adjusts the offset as little as possible, so that an answer of this date was written between the local times of its request and its arrival. Dates
// are in whole seconds. It reports whether the offset has changed notably.
func (c *ServerClock) learn(sent, received, date time.Time) (offset time.Duration, changed bool) {
	least, most := date.Sub(received), date.Add(time.Second).Sub(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	received = received.Round(0) // drops the monotonic reading
	before, now, set := c.offset, time.Now(), time.Duration(0)
	if age := now.Sub(c.mark); c.isKnown {
		set = received.Sub(c.at) - age // by how much the local clock was set meanwhile
		if set.Abs() < time.Second {
			least, most = max(least, c.least-set-age/drift), min(most, c.most-set+age/drift)
		}
	}
	if least > most {
		return c.offset, false
	}
	c.isKnown, c.at, c.mark, c.least, c.most, c.offset = true, received, now, least, most, max(least, min(c.offset-set, most))
	return c.offset, (c.offset - before).Abs() >= notableOffset
}

// wrap is for rest.Config.Wrap.
func (c *ServerClock) wrap(next http.RoundTripper) http.RoundTripper { return &clockTransport{c, next} }

// clockTransport learns from the answers to a client's requests.
type clockTransport struct {
	clock *ServerClock
	next  http.RoundTripper
}

func (t *clockTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := t.clock.local.Now()
	response, err := t.next.RoundTrip(request)
	if err != nil || response.Header.Get(auditID) == "" {
		return response, err
	}
	if date, unknown := http.ParseTime(response.Header.Get("Date")); unknown == nil {
		if offset, changed := t.clock.learn(sent, t.clock.local.Now(), date); changed {
			klog.FromContext(request.Context()).Info("The clock of this machine differs from the API server's, which counts", "serverIsAheadBy", offset)
		}
	}
	return response, nil
}

// WrappedRoundTripper lets client-go find the underlying transport.
func (t *clockTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
