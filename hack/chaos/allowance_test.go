package main

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mycompany/podmanager/hack/test/harness/lab"
)

// A limit is longer by what the slowest write took meanwhile, and not by a write before or by more than slack.
func TestIsOver(t *testing.T) {
	const limit = 10 * time.Second
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	tests := map[string]struct {
		// beats are the beginnings and ends of writes, after the beginning of what is judged.
		beats [][2]time.Duration
		after time.Duration
		want  bool
	}{
		"in time":                      {nil, limit, false},
		"a moment too late":            {nil, limit + 1, true},
		"within the allowance":         {[][2]time.Duration{{ms(1000), ms(1400)}}, limit + slack*ms(400), false},
		"past the allowance":           {[][2]time.Duration{{ms(1000), ms(1400)}}, limit + slack*ms(400) + 1, true},
		"the slowest write counts":     {[][2]time.Duration{{ms(10), ms(20)}, {ms(1000), ms(1400)}, {ms(2000), ms(2010)}}, limit + slack*ms(400), false},
		"writes do not add up":         {[][2]time.Duration{{ms(1000), ms(1400)}, {ms(2000), ms(2400)}}, limit + slack*ms(400) + 1, true},
		"slow before, not now":         {[][2]time.Duration{{-ms(9000), -ms(1000)}, {ms(1000), ms(1001)}}, limit + slack*ms(1) + 1, true},
		"slow when it began":           {[][2]time.Duration{{-ms(300), ms(100)}}, limit + slack*ms(400), false},
		"a write that is not over yet": {[][2]time.Duration{{ms(10000), 0}}, limit + ms(1000), false},
		"one that began just now":      {[][2]time.Duration{{limit + ms(900), 0}}, limit + ms(1000), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now().Add(time.Minute)
				a := &arena{run: &run{pulse: &pulse{beats: beatsAt(began, test.beats)}}}
				time.Sleep(time.Minute + test.after)
				if got := a.isOver(began, limit); got != test.want {
					t.Errorf("%v after the beginning, with a limit of %v: over is %v", test.after, limit, got)
				}
			})
		})
	}
}

func beatsAt(began time.Time, times [][2]time.Duration) (beats []beat) {
	for _, each := range times {
		b := beat{from: began.Add(each[0])}
		if each[1] != 0 {
			b.to = began.Add(each[1])
		}
		beats = append(beats, b)
	}
	return beats
}

// A takeover may take longer by what shards usually need, or by what a write took; and by another takeover only if the machine stood still.
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
		"shards need a while":       {300 * time.Millisecond, 10 * time.Millisecond, slack * 300 * time.Millisecond},
		"writes need longer":        {300 * time.Millisecond, time.Second, slack * time.Second},
		"it almost stood still":     {0, renewDeadline / 2, slack * renewDeadline / 2},
		"it stood still":            {0, renewDeadline/2 + 1, slack*(renewDeadline/2+1) + another},
		"slow shards, quick writes": {renewDeadline, 10 * time.Millisecond, slack * renewDeadline},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			beats := []beat{{from.Add(time.Second), from.Add(time.Second + test.write)}, {to, to.Add(time.Minute)}} // the last one is too late to count
			c := &crew{arena: &arena{run: &run{pulse: &pulse{beats: beats}}}, usual: test.usual}
			if got := c.longer(from, to); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// shortLived launches programs that end with the given codes, and then one that goes on.
type shortLived struct {
	contender
	folder   string
	codes    []int
	launched atomic.Int32
}

func (s *shortLived) kubeconfig() string { return "" }

func (s *shortLived) launch(string, string, ...string) (*lab.Process, func() bool, error) {
	n := int(s.launched.Add(1))
	command := "exec sleep 60"
	if n <= len(s.codes) {
		command = fmt.Sprint("exit ", s.codes[n-1])
	}
	p, err := lab.StartProgram(filepath.Join(s.folder, fmt.Sprint(n, ".log")), "/bin/sh", "-c", command)
	return p, nil, err
}

// A successor is allowed the time of each lost Lease, and none for ending in another way.
func TestAway(t *testing.T) {
	const each = renewDeadline + relaunchAfter + leaseDuration
	tests := map[string]struct {
		codes    []int
		launched int32
		want     time.Duration
	}{
		"it goes on":               {nil, 1, 0},
		"it loses its Lease":       {[]int{lostLease}, 2, each},
		"it loses its Lease twice": {[]int{lostLease, lostLease}, 3, 2 * each},
		"it panics":                {[]int{2}, 1, 0},
		"it panics later":          {[]int{lostLease, 2}, 2, each},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programs := &shortLived{folder: t.TempDir(), codes: test.codes}
			a := &arena{ctx: t.Context(), run: &run{}, contender: programs}
			s := a.launchSuccessor()
			for programs.launched.Load() < test.launched && lab.Pause(t.Context(), 10*time.Millisecond) {
			}
			if len(test.codes) == int(test.launched) {
				// The last one has ended, and is not to be started again.
				ended := make(chan struct{})
				go func() { s.running.Wait(); close(ended) }()
				select {
				case <-ended:
				case <-time.After(5 * relaunchAfter):
				}
			}
			s.kill()
			if got := time.Duration(s.away.Load()); got != test.want || programs.launched.Load() != test.launched {
				t.Errorf("away for %v, started %d times; want %v, %d times", got, programs.launched.Load(), test.want, test.launched)
			}
		})
	}
}
