package consistency

import (
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"
)

const (
	pods     Resource = "pods"
	managers Resource = "managers"
)

var (
	web  = cache.NewObjectName("ns", "web")
	shop = cache.NewObjectName("ns", "shop")
	now  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func seen(podsVersion, managersVersion string) map[Resource]string {
	return map[Resource]string{pods: podsVersion, managers: managersVersion}
}

func TestBehind(t *testing.T) {
	tests := map[string]struct {
		wrote func(*Tracker)
		seen  map[Resource]string
		want  bool
	}{
		"nothing written":           {func(*Tracker) {}, seen("1", "1"), false},
		"store has caught up":       {func(t *Tracker) { t.Saw(web, pods, "10", now) }, seen("10", "1"), false},
		"store is ahead":            {func(t *Tracker) { t.Saw(web, pods, "9", now) }, seen("10", "1"), false},
		"numbers, not text":         {func(t *Tracker) { t.Saw(web, pods, "10", now) }, seen("9", "1"), true},
		"store has seen nothing":    {func(t *Tracker) { t.Saw(web, pods, "10", now) }, seen("", ""), true},
		"the newest write counts":   {func(t *Tracker) { t.Saw(web, pods, "10", now); t.Saw(web, pods, "5", now) }, seen("7", "1"), true},
		"every resource counts":     {func(t *Tracker) { t.Saw(web, pods, "5", now); t.Saw(web, managers, "8", now) }, seen("7", "7"), true},
		"others' writes do not":     {func(t *Tracker) { t.Saw(shop, pods, "10", now) }, seen("1", "1"), false},
		"forgotten":                 {func(t *Tracker) { t.Saw(web, pods, "10", now); t.Forget(web) }, seen("1", "1"), false},
		"a server that went back":   {func(t *Tracker) { t.Saw(web, pods, "900", now); t.ReadLive(web, seen("50", "50"), now) }, seen("50", "50"), false},
		"live is newer than stores": {func(t *Tracker) { t.ReadLive(web, seen("50", "50"), now) }, seen("49", "50"), true},
		"not comparable":            {func(t *Tracker) { t.Saw(web, pods, "abc", now) }, seen("7", "1"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tracker := NewTracker()
			test.wrote(tracker)
			if _, got := tracker.Behind(web, test.seen, now); got != test.want {
				t.Errorf("behind = %v, want %v", got, test.want)
			}
		})
	}
}

func TestBehindTellsForHowLong(t *testing.T) {
	tracker := NewTracker()
	tracker.Saw(web, pods, "10", now)
	for _, after := range []time.Duration{0, time.Second, time.Minute} {
		if got, behind := tracker.Behind(web, seen("9", ""), now.Add(after)); got != after || !behind {
			t.Errorf("behind for %v (%v), want %v", got, behind, after)
		}
	}
	if _, behind := tracker.Behind(web, seen("10", ""), now.Add(time.Hour)); behind {
		t.Error("still behind")
	}
	if tracker.Waiting(web) {
		t.Error("still waiting")
	}
	tracker.Saw(web, pods, "20", now.Add(2*time.Hour))
	if got, _ := tracker.Behind(web, seen("10", ""), now.Add(2*time.Hour)); got != 0 || !tracker.Waiting(web) {
		t.Errorf("behind for %v, want a fresh start", got)
	}
}

// After a live read without a version for pods, the pod store need not catch up; a later write makes it wait again.
func TestWritesAfterALiveRead(t *testing.T) {
	tracker := NewTracker()
	tracker.Saw(web, pods, "10", now)
	tracker.ReadLive(web, map[Resource]string{managers: "12"}, now)
	if _, behind := tracker.Behind(web, seen("9", "12"), now); behind {
		t.Error("waits for pods that the store shows")
	}
	tracker.ReadLive(web, nil, now)
	tracker.Saw(web, pods, "15", now)
	if _, behind := tracker.Behind(web, seen("14", "12"), now); !behind {
		t.Error("does not wait for its own write")
	}
}

func TestNothingIsKeptOfAnOwnerAtRest(t *testing.T) {
	tracker := NewTracker()
	tracker.Saw(web, pods, "10", now)
	tracker.MarkUnsettled(web, "web-1")
	tracker.MarkSettled(web, "web-1")
	tracker.Behind(web, seen("10", "1"), now)
	if got := len(tracker.owners); got != 0 {
		t.Errorf("%d records kept", got)
	}
}

func TestUnsettled(t *testing.T) {
	tracker := NewTracker()
	tracker.MarkUnsettled(web, "web-1")
	tracker.MarkUnsettled(web, "web-0")
	tracker.MarkUnsettled(web, "web-1")
	if got, want := tracker.Unsettled(web), []string{"web-0", "web-1"}; !slices.Equal(got, want) {
		t.Errorf("unsettled %v, want %v", got, want)
	}
	tracker.MarkSettled(web, "web-0")
	tracker.MarkSettled(shop, "web-1")
	if got, want := tracker.Unsettled(web), []string{"web-1"}; !slices.Equal(got, want) {
		t.Errorf("unsettled %v, want %v", got, want)
	}
}
