package consistency

import (
	"testing"
	"time"
)

const (
	pods     Resource = "pods"
	managers Resource = "managers"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

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
		"store has caught up":       {func(t *Tracker) { t.Saw(pods, "10", now) }, seen("10", "1"), false},
		"store is ahead":            {func(t *Tracker) { t.Saw(pods, "9", now) }, seen("10", "1"), false},
		"numbers, not text":         {func(t *Tracker) { t.Saw(pods, "10", now) }, seen("9", "1"), true},
		"store has seen nothing":    {func(t *Tracker) { t.Saw(pods, "10", now) }, seen("", ""), true},
		"the newest write counts":   {func(t *Tracker) { t.Saw(pods, "10", now); t.Saw(pods, "5", now) }, seen("7", "1"), true},
		"every resource counts":     {func(t *Tracker) { t.Saw(pods, "5", now); t.Saw(managers, "8", now) }, seen("7", "7"), true},
		"a server that went back":   {func(t *Tracker) { t.Saw(pods, "900", now); t.RecordLive(seen("50", "50"), now) }, seen("50", "50"), false},
		"live is newer than stores": {func(t *Tracker) { t.RecordLive(seen("50", "50"), now) }, seen("49", "50"), true},
		"not comparable":            {func(t *Tracker) { t.Saw(pods, "abc", now) }, seen("7", "1"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tracker := &Tracker{}
			test.wrote(tracker)
			if _, got := tracker.Behind(test.seen, now); got != test.want {
				t.Errorf("behind = %v, want %v", got, test.want)
			}
		})
	}
}

func TestBehindTellsForHowLong(t *testing.T) {
	tracker := &Tracker{}
	tracker.Saw(pods, "10", now)
	for _, after := range []time.Duration{0, time.Second, time.Minute} {
		if got, behind := tracker.Behind(seen("9", ""), now.Add(after)); got != after || !behind {
			t.Errorf("behind for %v (%v), want %v", got, behind, after)
		}
	}
	if _, behind := tracker.Behind(seen("10", ""), now.Add(time.Hour)); behind {
		t.Error("behind, although the store has caught up")
	}
	if tracker.Waiting() {
		t.Error("waiting, although the store has caught up")
	}
	tracker.Saw(pods, "20", now.Add(2*time.Hour))
	if got, _ := tracker.Behind(seen("10", ""), now.Add(2*time.Hour)); got != 0 || !tracker.Waiting() {
		t.Errorf("behind for %v, want the time to count from the new write", got)
	}
}

// After a live read without a version for pods, the pod store need not catch up; a later write makes it wait again.
func TestWritesAfterALiveRead(t *testing.T) {
	tracker := &Tracker{}
	tracker.Saw(pods, "10", now)
	tracker.RecordLive(map[Resource]string{managers: "12"}, now)
	if _, behind := tracker.Behind(seen("9", "12"), now); behind {
		t.Error("waits for the store of pods, although the live read returned no version for pods")
	}
	tracker.RecordLive(nil, now)
	tracker.Saw(pods, "15", now)
	if _, behind := tracker.Behind(seen("14", "12"), now); !behind {
		t.Error("does not wait for its own write")
	}
}
