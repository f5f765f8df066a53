package scenarios

import (
	"testing"
	"time"

	"github.com/mycompany/podmanager/hack/chaos/testenv"
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
		"shards need a while":       {300 * time.Millisecond, 10 * time.Millisecond, testenv.Slack * 300 * time.Millisecond},
		"writes need longer":        {300 * time.Millisecond, time.Second, testenv.Slack * time.Second},
		"it almost stood still":     {0, renewDeadline / 2, testenv.Slack * renewDeadline / 2},
		"it stood still":            {0, renewDeadline/2 + 1, testenv.Slack*(renewDeadline/2+1) + another},
		"slow shards, quick writes": {renewDeadline, 10 * time.Millisecond, testenv.Slack * renewDeadline},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// The last write is too late to count.
			writes := []testenv.Write{{From: from.Add(time.Second), To: from.Add(time.Second + test.write)}, {From: to, To: to.Add(time.Minute)}}
			c := &replicaGroup{scene: scene{&testenv.Env{Run: &testenv.Run{Latency: testenv.NewLatency(writes...)}}}, usual: test.usual}
			if got := c.longer(from, to); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
