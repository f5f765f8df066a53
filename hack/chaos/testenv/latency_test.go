package testenv

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		at := func(after time.Duration) time.Time { return began.Add(after) }
		l := &Latency{}
		ctx, stop := context.WithCancel(t.Context())
		go l.follow(ctx, func(context.Context) error {
			if time.Since(began) > 10*time.Second && time.Since(began) < 11*time.Second {
				time.Sleep(3 * time.Second) // the machine is busy
			}
			time.Sleep(10 * time.Millisecond)
			return nil
		})
		time.Sleep(12 * time.Second)
		if got := l.Slowest(at(11*time.Second), at(12*time.Second)); got < time.Second {
			t.Errorf("the slowest write took %v, although one has been in flight since about 10 s", got)
		}
		time.Sleep(8 * time.Second)
		stop()
		time.Sleep(time.Second) // let the last write end
		for name, test := range map[string]struct{ from, to, want time.Duration }{
			"before the busy time": {0, 9 * time.Second, 10 * time.Millisecond},
			"within it":            {11 * time.Second, 12 * time.Second, 3010 * time.Millisecond},
			"after it":             {15 * time.Second, 20 * time.Second, 10 * time.Millisecond},
			"before all writes":    {-2 * time.Second, -time.Second, 0},
		} {
			if got := l.Slowest(at(test.from), at(test.to)); got != test.want {
				t.Errorf("%s: got %v, want %v", name, got, test.want)
			}
		}
	})
}
