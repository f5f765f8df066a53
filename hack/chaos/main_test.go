package main

import (
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/scenarios"
)

// choose decides which scenarios run, with which seed, and with which controllers.
func TestChoose(t *testing.T) {
	tests := map[string]struct {
		only     string
		campaign *campaign
		want     *campaign
		fails    bool
	}{
		"all":                   {"", &campaign{}, &campaign{complete: true, duration: completeTime}, false},
		"all, with a seed":      {"", &campaign{seed: 7}, &campaign{seed: 7, complete: true, duration: completeTime}, false},
		"one":                   {"split-brain", &campaign{seed: 7}, &campaign{seed: 7}, false},
		"the same every time":   {"", &campaign{short: true}, &campaign{seed: shortSeed, withoutPeer: true}, false},
		"short, with a seed":    {"", &campaign{short: true, seed: 7}, &campaign{seed: 7, withoutPeer: true}, false},
		"many rounds of one":    {"split-brain", &campaign{seed: 7, rounds: 50}, &campaign{seed: 7, withoutPeer: true}, false},
		"many rounds of all":    {"", &campaign{seed: 7, rounds: 50}, &campaign{seed: 7, withoutPeer: true}, false},
		"all, but not for long": {"", &campaign{seed: 7, duration: time.Minute}, &campaign{seed: 7, duration: time.Minute, timed: true}, false},
		"all, for long":         {"", &campaign{seed: 7, duration: time.Hour}, &campaign{seed: 7, duration: time.Hour, timed: true, complete: true}, false},
		"one, for a time":       {"split-brain", &campaign{seed: 7, duration: time.Hour}, &campaign{seed: 7, duration: time.Hour, timed: true}, false},
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
			if c.timed != test.want.timed {
				t.Errorf("timed is %v, want %v", c.timed, test.want.timed)
			}
			if test.only != "" && len(c.scenarios) != 1 {
				t.Errorf("%d scenarios, want 1", len(c.scenarios))
			}
		})
	}
}

// In a timed campaign the seed decides which scenario is the first, so that each of them runs in some campaign.
func TestChooseOrder(t *testing.T) {
	all := scenarios.All()
	for seed := range uint64(len(all)) {
		c := &campaign{seed: seed + uint64(len(all)), duration: time.Minute}
		if err := c.choose(""); err != nil {
			t.Fatal(err)
		}
		if len(c.scenarios) != len(all) || c.scenarios[0].Name != all[seed].Name {
			t.Errorf("seed %d: %d scenarios, the first is %s; want %d, %s", c.seed, len(c.scenarios), c.scenarios[0].Name, len(all), all[seed].Name)
		}
	}
}
