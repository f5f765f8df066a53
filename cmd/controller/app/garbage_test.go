package app

import (
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

func percentNow() int {
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent
}

func TestSpareGarbageCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	for name, test := range map[string]struct {
		environment string
		during      int
	}{
		"usually":               {"", startGCPercent},
		"with GOGC of a user's": {"80", gcPercent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", test.environment)
			synctest.Test(t, func(t *testing.T) {
				filled := make(chan struct{})
				go spareGarbageCollector(t.Context(), filled)
				for _, moment := range []struct {
					what string
					wait time.Duration
					want int
				}{
					{"while the caches fill", time.Minute, test.during},
					{"during the first syncs", firstSyncs - time.Millisecond, test.during},
					{"after that", time.Second, gcPercent},
				} {
					time.Sleep(moment.wait)
					synctest.Wait()
					if got := percentNow(); got != moment.want {
						t.Errorf("%s: %d %%, want %d %%", moment.what, got, moment.want)
					}
					if moment.what == "while the caches fill" {
						close(filled)
						synctest.Wait()
					}
				}
			})
		})
	}
}
