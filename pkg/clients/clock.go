package clients

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// notableOffset is by how much the offset of ServerClock has to change for the change to be logged.
const notableOffset = 10 * time.Second

// auditID is a header that API servers set on each answer. Proxies do not set it on their own answers, whose dates do not count.
const auditID = "Audit-Id"

// ServerClock shows the API server's time: the clock of this machine, corrected as far as the Date headers of the API server's answers prove that
// it is wrong. The times in objects come from the API server, and a new leader may run on a machine whose clock differs by minutes from the clock
// of the previous leader's machine.
//
// The controller measures intervals with this clock, too, so it must not jump. After an answer, ServerClock advances with the monotonic clock of this
// machine, which cannot be set. An answer may contradict earlier ones, because another API server with another clock has sent it. Such an answer
// counts only if the difference has another explanation: the clocks have drifted apart since the last answer that counted, or the machine slept, or
// its clock was set.
type ServerClock struct {
	local clock.PassiveClock

	mu sync.Mutex
	// isKnown is set once an answer has counted. The last answer that counted arrived when the local clock showed at and the monotonic clock showed
	// mark. It proves that the API server's clock was then ahead of the local clock by a time between least and most. offset is what Now adds.
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

// drift says how fast two clocks may drift apart: by at most 1/drift of the time that passes. A clock that NTP adjusts is too fast or too slow by
// at most half of that.
const drift = 1000

// learn adjusts the offset as little as possible to an answer: the API server wrote the date after the request was sent and before the answer was
// received. The date is in whole seconds, so the API server's clock may have shown up to a second more. learn returns the offset, and whether it
// has changed by notableOffset or more.
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
			klog.FromContext(request.Context()).Info("The difference between this machine's clock and the API server's has changed; "+
				"the controller uses the API server's time", "serverIsAheadBy", offset)
		}
	}
	return response, nil
}

// WrappedRoundTripper lets client-go find the underlying transport.
func (t *clockTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
