package harness

import (
	"testing"
	"time"
)

func TestSlowdown(t *testing.T) {
	repeat := func(count int, took time.Duration) []time.Duration {
		samples := make([]time.Duration, count)
		for i := range samples {
			samples[i] = took
		}
		return samples
	}
	for name, test := range map[string]struct {
		samples []time.Duration
		want    float64
	}{
		"nothing measured yet":                 {nil, 1},
		"as fast as expected":                  {repeat(10, sampleTakes), 1},
		"faster does not shorten limits":       {repeat(10, sampleTakes/4), 1},
		"half of each core is taken":           {repeat(10, 2*sampleTakes), 2},
		"one pause among many quick pieces":    {append(repeat(49, sampleTakes), 51*sampleTakes), 2},
		"what is long ago does not count":      {append(repeat(200, 5*sampleTakes), repeat(sampleCount, 3*sampleTakes)...), 3},
		"a machine that stands still: at most": {repeat(10, time.Minute), mostSlowdown},
	} {
		t.Run(name, func(t *testing.T) {
			s := &speed{}
			for _, sample := range test.samples {
				s.add(sample)
			}
			if got := s.slowdown(); got != test.want {
				t.Errorf("slowdown is %v, want %v", got, test.want)
			}
		})
	}
}
