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

// ServerClock shows the API server's time, as far as the Date headers of its answers tell it. The times in objects come from the API server, and two
// replicas that follow each other may run on machines whose clocks differ by minutes. While the answers agree with the machine's clock, it shows the
// machine's time.
//
// It goes by the monotonic clock, so that it does not jump when the machine's clock is set.
type ServerClock struct {
	local   clock.PassiveClock
	started time.Time

	mu sync.Mutex
	// offset is by how much the API server's clock is ahead.
	offset time.Duration
}

func newServerClock(local clock.PassiveClock) *ServerClock {
	return &ServerClock{local: local, started: local.Now()}
}

// Now returns the API server's time.
func (c *ServerClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.localNow().Add(c.offset)
}

// Since returns how long ago a time was.
func (c *ServerClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *ServerClock) localNow() time.Time { return c.started.Add(c.local.Since(c.started)) }

// learn adjusts the offset as little as possible, so that an answer of this date was written between the local times of its request and its arrival. Dates
// are in whole seconds.
func (c *ServerClock) learn(sent, received, date time.Time) (offset time.Duration, changed bool) {
	least, most := date.Sub(received), date.Add(time.Second).Sub(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.offset
	c.offset = max(least, min(c.offset, most))
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
	sent := t.clock.localNow()
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	if date, unknown := http.ParseTime(response.Header.Get("Date")); unknown == nil {
		if offset, changed := t.clock.learn(sent, t.clock.localNow(), date); changed {
			klog.FromContext(request.Context()).Info("The clock of this machine differs from the API server's, which counts", "serverIsAheadBy", offset)
		}
	}
	return response, nil
}

// WrappedRoundTripper lets client-go find the underlying transport.
func (t *clockTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
