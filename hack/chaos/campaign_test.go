package main

import (
	"strings"
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
)

// A run starts next to others only on a machine that keeps up with them.
func TestEnter(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(seconds float64) time.Time { return now.Add(-time.Duration(seconds * float64(time.Second))) }
	quick, slow := testenv.Write{From: ago(1), To: ago(0.9)}, testenv.Write{From: ago(3), To: ago(1)}
	tests := map[string]struct {
		running int
		started time.Time
		writes  []testenv.Write
		want    bool
	}{
		"the first one":               {0, time.Time{}, nil, true},
		"the only one, machine slow":  {0, ago(1), []testenv.Write{slow}, true},
		"beside others":               {2, ago(6), []testenv.Write{quick}, true},
		"beside others, machine slow": {2, ago(6), []testenv.Write{slow, quick}, false},
		"slow a while ago":            {2, ago(20), []testenv.Write{{From: ago(9), To: ago(7)}, quick}, true},
		"just after another one":      {1, ago(4), []testenv.Write{quick}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &campaign{running: test.running, started: test.started, latency: testenv.NewLatency(test.writes...)}
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

// If the user has not set a duration, every scenario runs at least once. If the duration is set, no run starts after it is over.
func TestOver(t *testing.T) {
	past, future := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	tests := map[string]struct {
		campaign *campaign
		round    int
		deadline time.Time
		want     bool
	}{
		"the first round":               {&campaign{duration: time.Minute}, 0, past, false},
		"the second round":              {&campaign{duration: time.Minute}, 1, past, true},
		"the second round, in time":     {&campaign{duration: time.Minute}, 1, future, false},
		"the first round, timed":        {&campaign{duration: time.Minute, timed: true}, 0, past, true},
		"the first, timed and in time":  {&campaign{duration: time.Minute, timed: true}, 0, future, false},
		"a choice, as often as it says": {&campaign{}, 4, past, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.campaign.over(t.Context(), test.round, test.deadline)(); got != test.want {
				t.Errorf("over: %v, want %v", got, test.want)
			}
		})
	}
}

func TestExpectation(t *testing.T) {
	many := make([]testenv.Scenario, 35)
	tests := map[string]struct {
		duration   time.Duration
		contenders int
		want       string
	}{
		"both controllers": {10 * time.Minute, 2, "about 12 of 35 scenarios"},
		"ours only":        {10 * time.Minute, 1, "each of 35 scenarios"},
		"no time at all":   {time.Second, 2, "about 1 of 35 scenarios"},
		"enough":           {time.Hour, 2, "each of 35 scenarios"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &campaign{scenarios: many, duration: test.duration}
			if got := c.expectation(test.contenders); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
