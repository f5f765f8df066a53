package main

import (
	"testing"
	"time"
)

// Runs start beside others only on a machine that keeps up with these.
func TestEnter(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(seconds float64) time.Time { return now.Add(-time.Duration(seconds * float64(time.Second))) }
	quick, slow := beat{ago(1), ago(0.9)}, beat{ago(3), ago(1)}
	tests := map[string]struct {
		running int
		started time.Time
		beats   []beat
		want    bool
	}{
		"the first one":               {0, time.Time{}, nil, true},
		"the only one, machine slow":  {0, ago(1), []beat{slow}, true},
		"beside others":               {2, ago(6), []beat{quick}, true},
		"beside others, machine slow": {2, ago(6), []beat{slow, quick}, false},
		"slow a while ago":            {2, ago(20), []beat{{ago(9), ago(7)}, quick}, true},
		"just after another one":      {1, ago(4), []beat{quick}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &campaign{running: test.running, started: test.started, pulse: &pulse{beats: test.beats}}
			if got := c.enter(now); got != test.want {
				t.Errorf("may start: %v, want %v", got, test.want)
			}
			running := test.running
			if test.want {
				running++
			}
			if c.running != running {
				t.Errorf("%d are running, want %d", c.running, running)
			}
			if test.want {
				if c.leave(); c.running != test.running {
					t.Errorf("%d are running after one has left, want %d", c.running, test.running)
				}
			}
		})
	}
}
