package scenarios

import (
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/arena"
)

// The usual reaction time of shards, or the slowest write, extends a takeover's limit. Another takeover extends it only if the machine stood still.
func TestLonger(t *testing.T) {
	from := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	to := from.Add(20 * time.Second)
	const another = leaseDuration + takeoverAfterKill
	tests := map[string]struct {
		usual time.Duration
		write time.Duration
		want  time.Duration
	}{
		"nothing is known":          {0, 0, 0},
		"shards need a while":       {300 * time.Millisecond, 10 * time.Millisecond, arena.Slack * 300 * time.Millisecond},
		"writes need longer":        {300 * time.Millisecond, time.Second, arena.Slack * time.Second},
		"it almost stood still":     {0, renewDeadline / 2, arena.Slack * renewDeadline / 2},
		"it stood still":            {0, renewDeadline/2 + 1, arena.Slack*(renewDeadline/2+1) + another},
		"slow shards, quick writes": {renewDeadline, 10 * time.Millisecond, arena.Slack * renewDeadline},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// The last write is too late to count.
			beats := []arena.Beat{{From: from.Add(time.Second), To: from.Add(time.Second + test.write)}, {From: to, To: to.Add(time.Minute)}}
			c := &crew{scene: scene{&arena.Arena{Run: &arena.Run{Pulse: arena.NewPulse(beats...)}}}, usual: test.usual}
			if got := c.longer(from, to); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
