package clients

import (
	"net/http"
	"sync/atomic"
	"time"
)

// ServerClock is the API server's clock, as the dates of its answers show it. Controllers whose own clocks differ judge by it, so that one that
// takes over within a bake time or a deadline counts on from where the other was.
type ServerClock struct {
	// ahead is by how much the API server's clock is ahead of this machine's, in nanoseconds. It is zero while the answers do not contradict that.
	ahead atomic.Int64
}

// Now returns the time by the API server's clock.
func (c *ServerClock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Since returns how much time has passed by the API server's clock.
func (c *ServerClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// note notes an answer. Its date lacks the fraction of a second, and lies between the times when the request was sent and the answer came: the clock
// changes only as far as it must to agree with that.
func (c *ServerClock) note(sent, answered time.Time, date string) {
	said, err := http.ParseTime(date)
	if err != nil {
		return // a proxy may drop the date
	}
	least, most := said.Sub(answered.Round(0)), said.Add(time.Second).Sub(sent.Round(0))
	if least > most {
		return // this machine's clock was set back meanwhile
	}
	ahead := c.ahead.Load()
	if next := min(max(ahead, int64(least)), int64(most)); next != ahead {
		c.ahead.CompareAndSwap(ahead, next) // the answer to another request may have changed it meanwhile, which is as good
	}
}
