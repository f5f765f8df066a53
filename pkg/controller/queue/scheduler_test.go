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

	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// fixture is a scheduler that uses the fake time of a synctest bubble.
type fixture struct{ *Scheduler }

func withScheduler(t *testing.T, test func(t *testing.T, f fixture)) {
	synctest.Test(t, func(t *testing.T) {
		f := fixture{New(clock.RealClock{}, everything)}
		test(t, f)
		f.Workqueue.ShutDown()
		synctest.Wait()
	})
}

// queuedFor takes the next key and returns its triggers. It returns "nothing" if no key is queued.
func (f fixture) queuedFor() string {
	synctest.Wait()
	if f.Workqueue.Len() == 0 {
		return "nothing"
	}
	key, _ := f.Workqueue.Get()
	defer f.Workqueue.Done(key)
	return fmt.Sprint(f.Take(key))
}

func TestScheduler(t *testing.T) {
	web := key("web")
	in := func(wait time.Duration) requeue.Requeue {
		return requeue.After(time.Now(), wait, requeue.RequeueRefused)
	}
	tests := map[string]struct {
		happened func(f fixture)
		want     []string // the triggers of the key each time that it is taken
	}{
		"several reasons": {
			func(f fixture) {
				f.Add(web, TriggerManagerChanged, 0)
				f.Add(web, TriggerPodChanged, 0)
				f.Add(web, TriggerPodDeleted, 0)
			},
			[]string{"[managerChanged podChanged podDeleted]", "nothing"},
		},
		"due": {
			func(f fixture) { f.Finish(web, in(time.Second), false, nil); time.Sleep(time.Second) }, []string{"[time]", "nothing"},
		},
		"not yet due": {
			func(f fixture) { f.Finish(web, in(time.Second), false, nil); time.Sleep(999 * time.Millisecond) }, []string{"nothing"},
		},
		"the earliest time counts": {
			func(f fixture) {
				f.Finish(web, in(time.Minute), false, nil)
				f.Finish(web, in(time.Second), false, nil)
				f.Finish(web, in(time.Hour), false, nil)
				time.Sleep(time.Second)
			}, []string{"[time]", "nothing"},
		},
		"now": {
			func(f fixture) { f.Finish(web, requeue.Requeue{At: time.Now(), Why: requeue.RequeueMore}, false, nil) }, []string{"[time]", "nothing"},
		},
		"never": {
			func(f fixture) { f.Finish(web, requeue.Requeue{}, false, nil); time.Sleep(24 * time.Hour) }, []string{"nothing"},
		},
		"a failed sync is requeued": {
			func(f fixture) {
				f.Finish(web, requeue.Requeue{}, false, errors.New("no"))
				time.Sleep(2 * minBackoff)
			}, []string{"[time]", "nothing"},
		},
		"a failed sync is requeued before it is due": {
			func(f fixture) { f.Finish(web, in(time.Hour), false, errors.New("no")); time.Sleep(2 * minBackoff) }, []string{"[time]", "nothing"},
		},
		"an event does not cut the backoff short": {
			func(f fixture) {
				f.Finish(web, requeue.Requeue{}, false, errors.New("no"))
				f.Add(web, TriggerPodChanged, 0)
			}, []string{"nothing"},
		},
		"an event in the backoff is not lost": {
			func(f fixture) {
				f.Finish(web, requeue.Requeue{}, false, errors.New("no"))
				f.Add(web, TriggerPodChanged, 0)
				time.Sleep(2 * minBackoff)
			}, []string{"[podChanged time]", "nothing"},
		},
		"a user does not wait for the backoff": {
			func(f fixture) {
				f.Finish(web, requeue.Requeue{}, false, errors.New("no"))
				f.Add(web, TriggerManagerChanged, 0)
			},
			[]string{"[managerChanged]", "nothing"},
		},
		"what a user changes during a failing sync does not wait, either": {
			func(f fixture) {
				f.Add(web, TriggerManagerChanged, 0)
				f.Finish(web, requeue.Requeue{}, false, errors.New("no"))
			},
			[]string{"[managerChanged]", "nothing"},
		},
		"a client that annotates the object does not end the backoff": {
			func(f fixture) {
				f.Finish(web, requeue.Requeue{}, false, errors.New("no"))
				f.Add(web, TriggerMetadata, 0)
			}, []string{"nothing"},
		},
		"a forgotten key is no longer due": {
			func(f fixture) { f.Finish(web, in(time.Second), false, nil); f.Forget(web); time.Sleep(time.Hour) }, []string{"[]", "nothing"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			withScheduler(t, func(t *testing.T, f fixture) {
				test.happened(f)
				var got []string
				for range test.want {
					got = append(got, f.queuedFor())
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("the triggers are %v, want %v", got, test.want)
				}
			})
		})
	}
}

// The workqueue has one timer for each key. A key whose earlier timer was set for an event is still requeued when it is due.
func TestDueSurvivesAnEarlierTimer(t *testing.T) {
	withScheduler(t, func(t *testing.T, f fixture) {
		f.Add(key("web"), TriggerPodChanged, time.Millisecond)
		f.Finish(key("web"), requeue.After(time.Now(), time.Minute, requeue.RequeueRefused), false, nil)
		time.Sleep(time.Millisecond)
		if got := f.queuedFor(); got != "[podChanged]" {
			t.Errorf("the triggers are %s, want the event", got)
		}
		time.Sleep(time.Minute)
		if got := f.queuedFor(); got != "[time]" {
			t.Errorf("the triggers are %s, want the time", got)
		}
	})
}

// The backoff of failed syncs grows up to maxBackoff, plus jitter.
func TestBackoffGrows(t *testing.T) {
	withScheduler(t, func(t *testing.T, f fixture) {
		var last time.Duration
		for range 30 {
			started := time.Now()
			wait := f.Finish(key("web"), requeue.Requeue{}, false, errors.New("no")).At.Sub(started)
			if wait < last*3/4 || wait > maxBackoff*5/4 {
				t.Fatalf("the backoff is %v after a backoff of %v", wait, last)
			}
			last = wait
		}
		if last < maxBackoff {
			t.Errorf("the last backoff is %v, want at least maxBackoff", last)
		}
	})
}

// everything selects what a controller without sharding syncs.
func everything(cache.ObjectName) bool { return true }

// Keys of other shards never enter the workqueue, whichever event they come from.
func TestOtherShardsKeysStayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(clock.RealClock{}, func(key cache.ObjectName) bool { return key.Name == "web" })
		defer a.Workqueue.ShutDown()
		for _, name := range []string{"web", "db"} {
			a.Add(key(name), TriggerManagerAdded, 0)
			a.Add(key(name), TriggerPodChanged, 0)
		}
		synctest.Wait()
		if got, _ := a.Workqueue.Get(); a.Workqueue.Len() != 0 || got != key("web") || len(a.entries) != 1 {
			t.Errorf("the first key is %v, and %d keys are left; want web and none", got, a.Workqueue.Len())
		}
	})
}

// The backoff grows until a sync has succeeded. A sync that could not carry out all of its plan has not succeeded.
func TestBackoffIsKept(t *testing.T) {
	web := key("web")
	withScheduler(t, func(t *testing.T, f fixture) {
		for _, step := range []struct {
			keepBackoff bool
			err         error
			want        int
		}{{false, errors.New("no"), 1}, {true, nil, 1}, {false, errors.New("no"), 2}, {false, nil, 0}} {
			if f.Finish(web, requeue.Requeue{}, step.keepBackoff, step.err); f.Workqueue.NumRequeues(web) != step.want {
				t.Errorf("after %+v, the workqueue counts %d failures", step, f.Workqueue.NumRequeues(web))
			}
		}
	})
}
