package queue

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// run is one key whose events and syncs are random.
type run struct {
	fixture
	t      *testing.T
	random *rand.Rand
	// backoff is when the backoff of the last sync ends if that sync failed. due is when the last sync asked to be repeated.
	backoff, due time.Time
	pending      map[Trigger]time.Time // the events since the last sync, and when each of them has to be handled at the latest
}

// event adds a trigger. It has to be handled when its delay and the backoff are over.
func (r *run) event(t Trigger) {
	wait := time.Duration(r.random.IntN(3)) * 100 * time.Millisecond
	if triggerPriority[t] == byUser {
		wait, r.backoff = 0, time.Time{}
	}
	if _, known := r.pending[t]; !known {
		r.pending[t] = latest(time.Now().Add(wait), r.backoff)
	}
	r.Add(key("web"), t, wait)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sync takes the key if it is queued, checks that it is neither early nor late, and ends in a random way.
func (r *run) sync(mayFail bool) {
	synctest.Wait()
	now := time.Now()
	if r.Workqueue.Len() > 0 {
		web, _ := r.Workqueue.Get()
		triggers := r.Take(web)
		if len(triggers) > 0 {
			r.check(triggers, now)
			again, err := requeue.Requeue{}, error(nil)
			switch r.random.IntN(4) {
			case 0:
				err = errors.New("no")
			case 1:
				again = requeue.After(now, time.Duration(r.random.IntN(5000))*time.Millisecond, requeue.RequeueRefused)
			}
			if !mayFail {
				again, err = requeue.Requeue{}, nil
			}
			again = r.Finish(web, again, r.random.IntN(2) == 0, err)
			r.due, r.backoff = again.At, time.Time{}
			if err != nil {
				r.backoff = again.At
			}
		}
		r.Workqueue.Done(web)
	}
	for t, at := range r.pending {
		if now.After(at) {
			r.t.Errorf("the event %s is still pending %v after it had to be handled", t, now.Sub(at))
		}
	}
	if !r.due.IsZero() && now.After(r.due) {
		r.t.Errorf("the key was due %v ago", now.Sub(r.due))
	}
}

func (r *run) check(triggers []Trigger, now time.Time) {
	if isUser := func(t Trigger) bool { return triggerPriority[t] == byUser }; now.Before(r.backoff) && !slices.ContainsFunc(triggers, isUser) {
		r.t.Errorf("the key was synced for %v although its backoff ends only in %v", triggers, r.backoff.Sub(now))
	}
	for _, t := range triggers {
		delete(r.pending, t)
	}
	if slices.Contains(triggers, triggerTime) {
		r.due = time.Time{}
	}
}

// Whatever happens, and however syncs end: a key is never synced within the backoff of a failed sync, except for a change by a user; each event is
// handled as soon as its delay and the backoff are over; and a key that is due is synced.
func TestBackoffsAndEvents(t *testing.T) {
	kinds := []Trigger{TriggerManagerChanged, TriggerMetadata, TriggerPodChanged, TriggerPodDeleted, TriggerStatusChanged}
	for seed := range uint64(50) {
		withScheduler(t, func(t *testing.T, f fixture) {
			r := &run{fixture: f, t: t, random: rand.New(rand.NewPCG(seed, 1)), pending: map[Trigger]time.Time{}}
			for range 500 {
				if r.random.IntN(8) == 0 {
					r.event(kinds[r.random.IntN(len(kinds))])
				}
				r.sync(true)
				time.Sleep(5 * time.Millisecond)
			}
			for range 4000 {
				r.sync(false)
				time.Sleep(5 * time.Millisecond)
			}
			if len(r.pending) > 0 || len(f.entries) > 0 || f.Workqueue.Len() > 0 {
				t.Errorf("seed %d: after the last sync, the events %v are pending and the entries %v are left", seed, r.pending, f.entries)
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
