package executor

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Calls start slowly, and none starts after a failure.
func TestSlowStart(t *testing.T) {
	never := -1
	tests := map[string]struct {
		count, initial, fails int
		calls, atOnce         int
		took                  time.Duration
	}{
		"nothing":         {count: 0, initial: 1, fails: never},
		"one":             {count: 1, initial: 1, fails: never, calls: 1, atOnce: 1, took: 1},
		"1, 2, 4, 3":      {count: 10, initial: 1, fails: never, calls: 10, atOnce: 4, took: 4},
		"all at once":     {count: 10, initial: 20, fails: never, calls: 10, atOnce: 10, took: 1},
		"within the lane": {count: 5 * wideLane, initial: 10 * wideLane, fails: never, calls: 5 * wideLane, atOnce: wideLane, took: 5},
		"the first fails": {count: 500, initial: 1, fails: 0, calls: 1, atOnce: 1, took: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				calls, running, most := 0, 0, 0
				count := func(by int) {
					mu.Lock()
					defer mu.Unlock()
					running += by
					calls += max(0, by)
				}
				look := func() {
					mu.Lock()
					defer mu.Unlock()
					most = max(most, running)
				}
				began := time.Now()
				results := slowStart(test.count, test.initial, make(chan struct{}, wideLane), func(i int) PodResult {
					count(+1)
					defer count(-1)
					time.Sleep(time.Millisecond) // until all calls that end at the same time have ended
					look()
					time.Sleep(time.Second - time.Millisecond)
					if test.fails != never && i >= test.fails {
						return PodResult{Err: errors.New("no")}
					}
					return PodResult{}
				})
				took := time.Since(began) / time.Second
				if len(results) != test.calls || calls != test.calls || most != test.atOnce || took != test.took {
					t.Errorf("%d results of %d calls, %d at once, in %d s; want %d, %d at once, in %d s",
						len(results), calls, most, took, test.calls, test.atOnce, test.took)
				}
				for i, r := range results {
					if (r.Err != nil) != (test.fails != never && i >= test.fails) {
						t.Errorf("call %d: %v", i, r.Err)
					}
				}
			})
		})
	}
}

// With a quota of 5, only a few of 500 creates are refused. How many depends on whether successes or refusals are answered first.
func TestQuotaRefusesFewCreates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := slowStart(500, 1, make(chan struct{}, wideLane), func(i int) PodResult {
			time.Sleep(time.Second)
			if i >= 5 {
				return PodResult{Err: errors.New("exceeded quota")}
			}
			return PodResult{}
		})
		if refused := len(results) - 5; refused < 1 || refused > 6 {
			t.Errorf("%d requests were refused", refused)
		}
	})
}

// All syncs share the lanes.
func TestLanesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		lanes := NewLanes()
		var syncs sync.WaitGroup
		for range 10 * narrowLane {
			syncs.Go(func() {
				InParallel(1, lanes.Of(1), func(int) PodResult {
					mu.Lock()
					running++
					most = max(most, running)
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					running--
					mu.Unlock()
					return PodResult{}
				})
			})
		}
		syncs.Wait()
		if most != narrowLane || lanes.Of(wideLaneFrom) == lanes.Of(wideLaneFrom-1) {
			t.Errorf("%d at the same time, want %d", most, narrowLane)
		}
	})
}
