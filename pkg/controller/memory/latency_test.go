package memory

import (
	"testing"
	"time"
)

func TestCongestion(t *testing.T) {
	const ms = time.Millisecond
	tests := map[string]struct {
		took []time.Duration // one a second
		idle time.Duration   // since the last of them
		want time.Duration   // to within a tenth
	}{
		"nothing was written":                 {},
		"a fast API server":                   {took: []time.Duration{5 * ms, 5 * ms, 5 * ms}},
		"one that is far away":                {took: []time.Duration{80 * ms, 80 * ms, 80 * ms, 80 * ms, 80 * ms, 80 * ms, 80 * ms, 80 * ms}},
		"one write was slow":                  {took: []time.Duration{5 * ms, 5 * ms, 105 * ms}, want: 23 * ms},
		"all are slow now":                    {took: []time.Duration{5 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms}, want: 316 * ms},
		"far away, and slow now":              {took: []time.Duration{80 * ms, 80 * ms, 80 * ms, 80 * ms, 80 * ms, 80 * ms, 80 * ms, 480 * ms, 480 * ms, 480 * ms}, want: 188 * ms},
		"they were slow a while ago":          {took: []time.Duration{5 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms}, idle: 10 * time.Second, want: 156 * ms},
		"they were slow, and it is long past": {took: []time.Duration{5 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms, 405 * ms}, idle: time.Minute},
		"the clock went back":                 {took: []time.Duration{5 * ms, 5 * ms, 105 * ms}, idle: -time.Hour, want: 23 * ms},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			latency := &Latency{}
			for _, took := range test.took {
				now = now.Add(time.Second)
				latency.Took(took, now)
			}
			got := latency.Congestion(now.Add(test.idle))
			if tolerance := max(ms, test.want/10); got < test.want-tolerance || got > test.want+tolerance {
				t.Errorf("congestion %v, want %v", got, test.want)
			}
		})
	}
}
