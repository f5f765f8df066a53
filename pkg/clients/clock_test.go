package clients

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// wrongClock is the clock of a machine, and is wrong by ahead.
type wrongClock struct{ ahead time.Duration }

func (w wrongClock) Now() time.Time                  { return time.Now().Add(w.ahead) }
func (w wrongClock) Since(t time.Time) time.Duration { return w.Now().Sub(t) }

var _ clock.PassiveClock = wrongClock{}

// datedAnswers answers requests with a date that is wrong by off. A request takes the time way to arrive, and so does its answer.
type datedAnswers struct{ way, off time.Duration }

func (d datedAnswers) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(d.way)
	date := time.Now().Add(d.off)
	time.Sleep(d.way)
	return &http.Response{Header: http.Header{"Audit-Id": {"1"}, "Date": {date.UTC().Format(http.TimeFormat)}}}, nil
}

// ServerClock shows the API server's time, however far the machine's clock is off, and however slow an answer is.
func TestServerClock(t *testing.T) {
	tests := map[string]struct {
		ahead, way time.Duration
		want       time.Duration // by how much ServerClock may be off at most
	}{
		"right":               {0, 300 * time.Millisecond, 0},
		"right, slow answers": {0, 40 * time.Second, 0},
		"a little off":        {300 * time.Millisecond, time.Millisecond, time.Second + 2*time.Millisecond},
		"ahead":               {7 * time.Minute, 10 * time.Millisecond, time.Second + 20*time.Millisecond},
		"behind":              {-7 * time.Minute, 10 * time.Millisecond, time.Second + 20*time.Millisecond},
		"behind, slow":        {-7 * time.Minute, 20 * time.Second, 41 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(2300 * time.Millisecond)
				c := newServerClock(wrongClock{test.ahead})
				for range 5 {
					send(t, c, datedAnswers{way: test.way})
					if off := c.Since(time.Now()).Abs(); off > test.want {
						t.Errorf("ServerClock is off by %v, want at most %v", off, test.want)
					}
					time.Sleep(700 * time.Millisecond)
				}
			})
		})
	}
}

// An answer changes nothing if it has no date, is not an API server's, or comes from an API server whose clock differs from the clock of the first
// one.
func TestServerClockDoesNotJump(t *testing.T) {
	dated := func(ahead time.Duration) []string {
		return []string{time.Now().Add(ahead).UTC().Format(http.TimeFormat)}
	}
	tests := map[string]func() http.Header{
		"no date":                    func() http.Header { return http.Header{"Audit-Id": {"1"}} },
		"a proxy's":                  func() http.Header { return http.Header{"Date": dated(0)} },
		"another API server's":       func() http.Header { return http.Header{"Audit-Id": {"1"}, "Date": dated(0)} },
		"another one's, far ahead":   func() http.Header { return http.Header{"Audit-Id": {"1"}, "Date": dated(20 * time.Hour)} },
		"the same server's, set now": func() http.Header { return http.Header{"Audit-Id": {"1"}, "Date": dated(61 * time.Minute)} },
	}
	for name, header := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newServerClock(clock.RealClock{})
				send(t, c, datedAnswers{off: time.Hour})
				before := c.Now()
				if ahead := time.Until(before); ahead < 59*time.Minute {
					t.Fatalf("ServerClock is ahead by %v, want an hour", ahead)
				}
				if _, err := c.wrap(answers{header()}).RoundTrip(httpRequest(t)); err != nil {
					t.Fatal(err)
				}
				if now := c.Now(); !now.Equal(before) {
					t.Errorf("ServerClock jumped from %v to %v", before, now)
				}
			})
		})
	}
}

// If the machine's clock is set, ServerClock goes on without a jump. A machine that sleeps has the same effect.
func TestServerClockWhenTheMachinesClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{5 * time.Minute, -5 * time.Minute, 500 * time.Millisecond} {
		t.Run(by.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				local := &wrongClock{ahead: -5 * time.Minute}
				c := newServerClock(local)
				for range 5 {
					send(t, c, datedAnswers{way: time.Millisecond})
					time.Sleep(300 * time.Millisecond)
				}
				before := c.Since(time.Now())
				local.ahead += by
				if after := c.Since(time.Now()); after != before {
					t.Errorf("ServerClock was off by %v, and is off by %v after the machine's clock was set", before, after)
				}
				send(t, c, datedAnswers{way: time.Millisecond})
				if after := c.Since(time.Now()); (after - before).Abs() > time.Second {
					t.Errorf("ServerClock was off by %v, and is off by %v after the next answer", before, after)
				}
			})
		})
	}
}

// The machine's clock loses a second an hour. ServerClock still follows the API server's clock after a day.
func TestServerClockFollowsDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newServerClock(clock.RealClock{})
		for hour := range 24 {
			ahead := time.Duration(hour) * time.Second
			send(t, c, datedAnswers{way: time.Millisecond, off: ahead})
			if off := (c.Since(time.Now()) - ahead).Abs(); off > 1100*time.Millisecond {
				t.Errorf("ServerClock is off by %v after %d hours", off, hour)
			}
			time.Sleep(time.Hour)
		}
	})
}

type answers struct{ header http.Header }

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{Header: a.header}, nil
}

func httpRequest(t *testing.T) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func send(t *testing.T, c *ServerClock, server datedAnswers) {
	t.Helper()
	if _, err := c.wrap(server).RoundTrip(httpRequest(t)); err != nil {
		t.Fatal(err)
	}
}
