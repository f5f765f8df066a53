package app

import (
	"context"
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
	const usual = 70
	defer debug.SetGCPercent(debug.SetGCPercent(usual))
	for name, test := range map[string]struct {
		environment string
		during      int
	}{
		"usually":               {"", startGCPercent},
		"with GOGC of the user": {"70", usual},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", test.environment)
			synctest.Test(t, func(t *testing.T) {
				served := make(chan struct{})
				go spareGarbageCollector(t.Context(), func(context.Context) bool { <-served; return true })
				for _, moment := range []struct {
					what string
					wait time.Duration
					want int
				}{
					{"while the caches fill", time.Minute, test.during},
					{"during the first syncs", firstSyncs - time.Millisecond, test.during},
					{"after the first syncs", time.Millisecond, usual},
				} {
					if moment.what == "during the first syncs" {
						close(served)
						synctest.Wait()
					}
					time.Sleep(moment.wait)
					synctest.Wait()
					if got := percentNow(); got != moment.want {
						t.Errorf("%s: %d %%, want %d %%", moment.what, got, moment.want)
					}
				}
			})
		})
	}
}

// A process that ends before the caches are filled does not wait for them.
func TestGarbageCollectorAtTheEnd(t *testing.T) {
	t.Setenv("GOGC", "")
	before := percentNow()
	spareGarbageCollector(t.Context(), func(context.Context) bool { return false })
	if got := percentNow(); got != before {
		t.Errorf("%d %%, want %d %% as before", got, before)
	}
}
