package queue

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// fixture is an agenda with a tracker, in the fake time of a synctest bubble.
type fixture struct {
	*Agenda
	tracker *consistency.Tracker
}

func withAgenda(t *testing.T, test func(t *testing.T, f fixture)) {
	synctest.Test(t, func(t *testing.T) {
		tracker := consistency.NewTracker()
		f := fixture{New(clock.RealClock{}, everything, tracker.IsEcho), tracker}
		test(t, f)
		f.Workqueue.ShutDown()
		synctest.Wait()
	})
}

// wrote notes an own write of a pod.
func (f fixture) wrote(version string) {
	f.tracker.Wrote(key("web"), "pods", version, time.Now())
}

// event is an update event of a pod.
func (f fixture) event(version string) {
	f.AddUnlessEcho(key("web"), ObservedWrite{TriggerPodChanged, "pods", version}, 0)
}

// queuedFor takes the next key, and returns its triggers; "nothing" if no key is queued.
func (f fixture) queuedFor() string {
	synctest.Wait()
	if f.Workqueue.Len() == 0 {
		return "nothing"
	}
	key, _ := f.Workqueue.Get()
	defer f.Workqueue.Done(key)
	return fmt.Sprint(f.Take(key))
}

func TestAgenda(t *testing.T) {
	web := key("web")
	in := func(wait time.Duration) requeue.LookAgain { return requeue.After(time.Now(), wait, requeue.AgainHold) }
	tests := map[string]struct {
		happened func(f fixture)
		want     []string // the triggers of the key, each time it is taken
	}{
		"somebody else's write": {
			func(f fixture) { f.event("7") }, []string{"[podChanged]", "nothing"},
		},
		"our own write, whose event came before the answer": {
			func(f fixture) { f.event("7"); f.wrote("7") }, []string{"[]", "nothing"},
		},
		"our own write, whose event came after the answer": {
			func(f fixture) { f.wrote("7"); f.event("7") }, []string{"nothing"},
		},
		"our own write and another one": {
			func(f fixture) { f.event("7"); f.event("8"); f.wrote("7") }, []string{"[podChanged]", "nothing"},
		},
		"more than maxPossibleEchoes count as a trigger": {
			func(f fixture) {
				for i := range 100 {
					f.event(fmt.Sprint(i))
					f.wrote(fmt.Sprint(i))
				}
			}, []string{"[podChanged]", "nothing"},
		},
		"a pod that is gone is never an echo": {
			func(f fixture) { f.wrote("7"); f.Add(web, TriggerPodDeleted, 0) }, []string{"[podDeleted]", "nothing"},
		},
		"several reasons": {
			func(f fixture) { f.Add(web, TriggerManagerChanged, 0); f.event("7"); f.Add(web, TriggerPodDeleted, 0) },
			[]string{"[managerChanged podChanged podDeleted]", "nothing"},
		},
		"due": {
			func(f fixture) { f.Finish(web, in(time.Second), nil); time.Sleep(time.Second) }, []string{"[time]", "nothing"},
		},
		"not yet due": {
			func(f fixture) { f.Finish(web, in(time.Second), nil); time.Sleep(999 * time.Millisecond) }, []string{"nothing"},
		},
		"the earliest time counts": {
			func(f fixture) {
				f.Finish(web, in(time.Minute), nil)
				f.Finish(web, in(time.Second), nil)
				f.Finish(web, in(time.Hour), nil)
				time.Sleep(time.Second)
			}, []string{"[time]", "nothing"},
		},
		"now": {
			func(f fixture) { f.Finish(web, requeue.LookAgain{At: time.Now(), Why: requeue.AgainMore}, nil) }, []string{"[time]", "nothing"},
		},
		"never": {
			func(f fixture) { f.Finish(web, requeue.LookAgain{}, nil); time.Sleep(24 * time.Hour) }, []string{"nothing"},
		},
		"a failed sync is requeued": {
			func(f fixture) { f.Finish(web, requeue.LookAgain{}, errors.New("no")); time.Sleep(2 * minBackoff) }, []string{"[time]", "nothing"},
		},
		"a failed sync is requeued before it is due": {
			func(f fixture) { f.Finish(web, in(time.Hour), errors.New("no")); time.Sleep(2 * minBackoff) }, []string{"[time]", "nothing"},
		},
		"a forgotten key is no longer due": {
			func(f fixture) { f.Finish(web, in(time.Second), nil); f.Forget(web); time.Sleep(time.Hour) }, []string{"[]", "nothing"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			withAgenda(t, func(t *testing.T, f fixture) {
				test.happened(f)
				var got []string
				for range test.want {
					got = append(got, f.queuedFor())
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("taken for %v, want %v", got, test.want)
				}
			})
		})
	}
}

// The workqueue has one timer for each key. A key whose earlier timer was set for an echo still comes back when it is due.
func TestDueSurvivesAnEarlierTimer(t *testing.T) {
	withAgenda(t, func(t *testing.T, f fixture) {
		f.AddUnlessEcho(key("web"), ObservedWrite{TriggerPodChanged, "pods", "7"}, time.Millisecond)
		f.Finish(key("web"), requeue.After(time.Now(), time.Minute, requeue.AgainHold), nil)
		f.wrote("7")
		time.Sleep(time.Millisecond)
		if got := f.queuedFor(); got != "[]" {
			t.Errorf("taken for %s, want an echo", got)
		}
		time.Sleep(time.Minute)
		if got := f.queuedFor(); got != "[time]" {
			t.Errorf("taken for %s, want the time", got)
		}
	})
}

// The backoff of failed syncs grows, up to about a minute.
func TestBackoffGrows(t *testing.T) {
	withAgenda(t, func(t *testing.T, f fixture) {
		var last time.Duration
		for range 30 {
			started := time.Now()
			wait := f.Finish(key("web"), requeue.LookAgain{}, errors.New("no")).At.Sub(started)
			if wait < last*3/4 || wait > maxBackoff*5/4 {
				t.Fatalf("waits %v after %v", wait, last)
			}
			last = wait
		}
		if last < maxBackoff {
			t.Errorf("waits %v in the end", last)
		}
	})
}

// The entry of a key has a bounded size.
func TestPossibleEchoesAreBounded(t *testing.T) {
	withAgenda(t, func(t *testing.T, f fixture) {
		for i := range 1000 {
			f.event(fmt.Sprint(i))
		}
		if got := len(f.entries[cache.NewObjectName("ns", "web")].possibleEchoes); got != maxPossibleEchoes {
			t.Errorf("keeps %d events, want %d", got, maxPossibleEchoes)
		}
	})
}

// everything is what a controller without shards syncs.
func everything(cache.ObjectName) bool { return true }

// Keys of other shards never enter the workqueue, whatever event they come from.
func TestOtherShardsKeysStayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(clock.RealClock{}, func(key cache.ObjectName) bool { return key.Name == "web" }, consistency.NewTracker().IsEcho)
		defer a.Workqueue.ShutDown()
		for _, name := range []string{"web", "db"} {
			a.Add(key(name), TriggerManagerAdded, 0)
			a.AddUnlessEcho(key(name), ObservedWrite{TriggerPodChanged, "pods", "7"}, 0)
		}
		synctest.Wait()
		if got, _ := a.Workqueue.Get(); a.Workqueue.Len() != 0 || got != key("web") || len(a.entries) != 1 {
			t.Errorf("took %v, and %d keys are left", got, a.Workqueue.Len())
		}
	})
}
