package main

import (
	"testing"
	"time"
)

// Which scenarios run, with which seed, and with which controllers.
func TestChoose(t *testing.T) {
	tests := map[string]struct {
		only     string
		campaign *campaign
		want     *campaign
		fails    bool
	}{
		"all":                   {"", &campaign{}, &campaign{complete: true, duration: 30 * time.Minute}, false},
		"all, with a seed":      {"", &campaign{seed: 7}, &campaign{seed: 7, complete: true, duration: 30 * time.Minute}, false},
		"one":                   {"churn", &campaign{seed: 7}, &campaign{seed: 7}, false},
		"the same every time":   {"", &campaign{short: true}, &campaign{seed: shortSeed, withoutPeer: true}, false},
		"short, with a seed":    {"", &campaign{short: true, seed: 7}, &campaign{seed: 7, withoutPeer: true}, false},
		"many rounds of one":    {"churn", &campaign{seed: 7, rounds: 50}, &campaign{seed: 7, withoutPeer: true}, false},
		"many rounds of all":    {"", &campaign{seed: 7, rounds: 50}, &campaign{seed: 7, withoutPeer: true}, false},
		"one that there is not": {"nonsense", &campaign{}, &campaign{}, true},
		"no regular expression": {"(", &campaign{}, &campaign{}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := test.campaign
			err := c.choose(test.only)
			if (err != nil) != test.fails {
				t.Errorf("error %v, want an error: %v", err, test.fails)
			}
			if err != nil {
				return
			}
			if c.seed == 0 || test.want.seed != 0 && c.seed != test.want.seed {
				t.Errorf("seed %d, want %d", c.seed, test.want.seed)
			}
			if c.complete != test.want.complete || c.withoutPeer != test.want.withoutPeer || c.duration != test.want.duration {
				t.Errorf("complete %v, without the peer %v, for %v; want %v, %v, %v",
					c.complete, c.withoutPeer, c.duration, test.want.complete, test.want.withoutPeer, test.want.duration)
			}
			if test.only != "" && len(c.scenarios) != 1 {
				t.Errorf("%d scenarios, want 1", len(c.scenarios))
			}
		})
	}
}
