package controller

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Calls are begun with care, and no more once one has failed.
func TestWhileItWorks(t *testing.T) {
	never := -1
	tests := map[string]struct {
		count, few, fails int
		calls, atOnce     int
		took              time.Duration
	}{
		"nothing":            {count: 0, few: 1, fails: never},
		"one":                {count: 1, few: 1, fails: never, calls: 1, atOnce: 1, took: 1},
		"1, 2, 4, 3":         {count: 10, few: 1, fails: never, calls: 10, atOnce: 4, took: 4},
		"with trust at once": {count: 10, few: 20, fails: never, calls: 10, atOnce: 10, took: 1},
		"within limits":      {count: 5 * wideLane, few: 10 * wideLane, fails: never, calls: 5 * wideLane, atOnce: wideLane, took: 5},
		"the first fails":    {count: 500, few: 1, fails: 0, calls: 1, atOnce: 1, took: 1},
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
					most = max(most, running)
				}
				began := time.Now()
				results := whileItWorks(test.count, test.few, make(chan struct{}, wideLane), func(i int) result {
					count(+1)
					defer count(-1)
					time.Sleep(time.Second)
					if test.fails != never && i >= test.fails {
						return result{err: errors.New("no")}
					}
					return result{}
				})
				took := time.Since(began) / time.Second
				if len(results) != test.calls || calls != test.calls || most != test.atOnce || took != test.took {
					t.Errorf("%d results of %d calls, %d at once, in %d s; want %d, %d at once, in %d s",
						len(results), calls, most, took, test.calls, test.atOnce, test.took)
				}
				for i, r := range results {
					if (r.err != nil) != (test.fails != never && i >= test.fails) {
						t.Errorf("call %d: %v", i, r.err)
					}
				}
			})
		})
	}
}

// A quota of 5 costs a few requests of 500. How many depends on who is told first, those that got a pod or those that did not.
func TestFewAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := whileItWorks(500, 1, make(chan struct{}, wideLane), func(i int) result {
			time.Sleep(time.Second)
			if i >= 5 {
				return result{err: errors.New("exceeded quota")}
			}
			return result{}
		})
		if refused := len(results) - 5; refused < 1 || refused > 6 {
			t.Errorf("%d requests were refused", refused)
		}
	})
}

func TestTrustGrowsAndEnds(t *testing.T) {
	now := time.Now()
	var m memory
	if got := m.trustIn(now); got != 1 {
		t.Errorf("%d at first", got)
	}
	m.trust(500, true, now)
	if got := m.trustIn(now.Add(trustFor)); got != 501 {
		t.Errorf("%d after 500 went well", got)
	}
	if got := m.trustIn(now.Add(trustFor + 1)); got != 1 {
		t.Errorf("%d after a while", got)
	}
	m.trust(500, true, now)
	m.trust(3, false, now)
	if got := m.trustIn(now); got != 1 {
		t.Errorf("%d after a failure", got)
	}
}

// What many syncs do at the same time goes through one lane.
func TestLanesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		lanes := newLanes()
		var syncs sync.WaitGroup
		for range 10 * narrowLane {
			syncs.Go(func() {
				inParallel(1, lanes.of(1), func(int) result {
					mu.Lock()
					running++
					most = max(most, running)
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					running--
					mu.Unlock()
					return result{}
				})
			})
		}
		syncs.Wait()
		if most != narrowLane || lanes.of(manyPods) == lanes.of(manyPods-1) {
			t.Errorf("%d at the same time, want %d", most, narrowLane)
		}
	})
}
