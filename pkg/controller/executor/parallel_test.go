package executor

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Calls start slowly, and no call starts after a failure.
func TestSlowStart(t *testing.T) {
	never := -1
	tests := map[string]struct {
		count, fails  int
		calls, atOnce int
		took          time.Duration
	}{
		"nothing":         {count: 0, fails: never},
		"one":             {count: 1, fails: never, calls: 1, atOnce: 1, took: 1},
		"1, 2, 4, 3":      {count: 10, fails: never, calls: 10, atOnce: 4, took: 4},
		"not too many":    {count: 3*maxAtOnce - 1, fails: never, calls: 3*maxAtOnce - 1, atOnce: maxAtOnce, took: 9},
		"the first fails": {count: 500, fails: 0, calls: 1, atOnce: 1, took: 1},
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
				results := slowStartBatch(test.count, func(i int) PodResult {
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
					t.Errorf("%d results of %d calls, %d at once, in %d s; want %d calls, %d at once, in %d s",
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

// With a quota of 5, only a few of 500 creates are refused. How many depends on whether successes or refusals come back first.
func TestQuotaRefusesFewCreates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := slowStartBatch(500, func(i int) PodResult {
			time.Sleep(time.Second)
			if i >= 5 {
				return PodResult{Err: errors.New("exceeded quota")}
			}
			return PodResult{}
		})
		if refused := len(results) - 5; refused < 1 || refused > 6 {
			t.Errorf("%d requests were refused, want 1 to 6", refused)
		}
	})
}
