package consistency

import (
	"slices"
	"strconv"
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
		"store has caught up":       {func(t *Tracker) { t.Wrote(web, pods, "10", now) }, seen("10", "1"), false},
		"store is ahead":            {func(t *Tracker) { t.Wrote(web, pods, "9", now) }, seen("10", "1"), false},
		"numbers, not text":         {func(t *Tracker) { t.Wrote(web, pods, "10", now) }, seen("9", "1"), true},
		"store has seen nothing":    {func(t *Tracker) { t.Wrote(web, pods, "10", now) }, seen("", ""), true},
		"the newest write counts":   {func(t *Tracker) { t.Wrote(web, pods, "10", now); t.Wrote(web, pods, "5", now) }, seen("7", "1"), true},
		"every resource counts":     {func(t *Tracker) { t.Wrote(web, pods, "5", now); t.Wrote(web, managers, "8", now) }, seen("7", "7"), true},
		"others' writes do not":     {func(t *Tracker) { t.Wrote(shop, pods, "10", now) }, seen("1", "1"), false},
		"forgotten":                 {func(t *Tracker) { t.Wrote(web, pods, "10", now); t.Forget(web) }, seen("1", "1"), false},
		"a server that went back":   {func(t *Tracker) { t.Wrote(web, pods, "900", now); t.ReadLive(web, seen("50", "50"), now) }, seen("50", "50"), false},
		"live is newer than stores": {func(t *Tracker) { t.ReadLive(web, seen("50", "50"), now) }, seen("49", "50"), true},
		"what was read counts":      {func(t *Tracker) { t.Saw(web, pods, "10", now) }, seen("9", "1"), true},
		"not comparable":            {func(t *Tracker) { t.Wrote(web, pods, "abc", now) }, seen("7", "1"), false},
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
	tracker.Wrote(web, pods, "10", now)
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
	tracker.Wrote(web, pods, "20", now.Add(2*time.Hour))
	if got, _ := tracker.Behind(web, seen("10", ""), now.Add(2*time.Hour)); got != 0 || !tracker.Waiting(web) {
		t.Errorf("behind for %v, want a fresh start", got)
	}
}

func TestIsEcho(t *testing.T) {
	tracker := NewTracker()
	tracker.Wrote(web, pods, "10", now)
	tracker.Wrote(web, pods, "11", now)
	tracker.Saw(web, pods, "12", now)
	steps := []struct {
		owner    cache.ObjectName
		resource Resource
		version  string
		want     bool
	}{
		{web, pods, "9", false},
		{shop, pods, "10", false},
		{web, managers, "10", false},
		{web, pods, "10", true},
		{web, pods, "10", false}, // true once for each write
		{web, pods, "11", true},
		{web, pods, "12", false}, // only read
	}
	for _, step := range steps {
		if got := tracker.IsEcho(step.owner, step.resource, step.version); got != step.want {
			t.Errorf("IsEcho(%v, %s, %s) = %v, want %v", step.owner, step.resource, step.version, got, step.want)
		}
	}
}

func TestEchoesDoNotPileUp(t *testing.T) {
	tracker := NewTracker()
	for i := range 10 * maxEchoes {
		tracker.Wrote(web, pods, strconv.Itoa(100+i), now)
	}
	if got := len(tracker.owners[web].echoes); got != maxEchoes {
		t.Errorf("%d echoes remembered, want %d", got, maxEchoes)
	}
	if tracker.IsEcho(web, pods, "100") || !tracker.IsEcho(web, pods, strconv.Itoa(99+10*maxEchoes)) {
		t.Error("the latest writes are those to remember")
	}
}

// After a live read without a version for pods, the pod store need not catch up; a later write makes it wait again.
func TestWritesAfterALiveRead(t *testing.T) {
	tracker := NewTracker()
	tracker.Wrote(web, pods, "10", now)
	tracker.ReadLive(web, map[Resource]string{managers: "12"}, now)
	if _, behind := tracker.Behind(web, seen("9", "12"), now); behind {
		t.Error("waits for pods that the store shows")
	}
	tracker.ReadLive(web, nil, now)
	tracker.Wrote(web, pods, "15", now)
	if _, behind := tracker.Behind(web, seen("14", "12"), now); !behind {
		t.Error("does not wait for its own write")
	}
}

func TestNothingIsKeptOfAnOwnerAtRest(t *testing.T) {
	tracker := NewTracker()
	tracker.Wrote(web, pods, "10", now)
	tracker.MarkUnsettled(web, "web-1")
	tracker.IsEcho(web, pods, "10")
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
