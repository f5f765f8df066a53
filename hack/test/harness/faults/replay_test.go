package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// testOwner is the owner of the pods in these tests.
const testOwner = types.UID("m")

var testStart = time.Now()

func at(second int) time.Time { return testStart.Add(time.Duration(second) * time.Second) }

func manager(second, replicas int) sighting {
	return sighting{uid: testOwner, name: "ns/m", owner: &ownerState{replicas: replicas}, at: at(second)}
}

// saying returns a version of the owner, of generation 2, with a status.
func saying(second, replicas int, said claim) sighting {
	seen := manager(second, replicas)
	seen.owner.generation, seen.owner.claim = 2, said
	return seen
}

// rolling returns a version of the owner with a surge of 1.
func rolling(second, replicas int, template string) sighting {
	seen := manager(second, replicas)
	seen.owner.surge, seen.owner.template = 1, template
	return seen
}

func pod(second int, uid, index string, active bool) sighting {
	return sighting{uid: types.UID(uid), name: "ns/m-" + index, pod: &podState{owner: testOwner, index: index, active: active}, at: at(second)}
}

func readyPod(second int, uid, index string) sighting {
	seen := pod(second, uid, index, true)
	seen.pod.ready = true
	return seen
}

// decoy returns a sighting of a pod that no controller may touch, with its metadata.
func decoy(metadata string) sighting {
	return sighting{uid: "d", name: "ns/m-7", pod: &podState{decoy: metadata}, at: at(0)}
}

func ownedBy(owner types.UID, seen sighting) sighting {
	state := *seen.pod
	state.owner = owner
	seen.pod = &state
	return seen
}

func gone(seen sighting) sighting { seen.gone = true; return seen }

// replayed steps through sightings in order, with 10 s as the recent time.
func replayed(sightings []sighting) *Report { return replayedBlind(sightings, 0) }

func replayedBlind(sightings []sighting, blind time.Duration) *Report {
	r := newReplay(10*time.Second, blind)
	for i, seen := range sightings {
		seen.version = uint64(i + 1)
		r.step(seen)
	}
	return r.report
}

func TestReplay(t *testing.T) {
	a, b := pod(0, "a", "0", true), pod(0, "b", "1", true)
	other := sighting{uid: "o", name: "ns/o", owner: &ownerState{replicas: 1}}
	tests := map[string]struct {
		sightings []sighting
		peak      int
		violation string
	}{
		"as wanted":        {[]sighting{manager(0, 2), a, b}, 2, ""},
		"one too many":     {[]sighting{manager(0, 1), a, b}, 2, "2 active pods"},
		"replaced":         {[]sighting{manager(0, 1), a, pod(0, "a", "0", false), b}, 1, ""},
		"same name again":  {[]sighting{manager(0, 1), a, gone(pod(0, "a", "0", false)), pod(0, "b", "0", true)}, 1, ""},
		"index twice":      {[]sighting{manager(0, 2), a, pod(0, "b", "0", true)}, 2, "2 pods with index 0"},
		"scaling down":     {[]sighting{manager(0, 2), a, b, manager(1, 1), pod(9, "b", "1", true)}, 2, ""},
		"never got around": {[]sighting{manager(0, 2), a, b, manager(1, 1), pod(12, "b", "1", true)}, 2, "2 active pods"},
		"back and forth":   {[]sighting{manager(0, 2), a, manager(1, 1), manager(2, 2), pod(12, "b", "1", true)}, 2, ""},
		"another's pod":    {[]sighting{manager(0, 1), other, a, ownedBy("o", b)}, 2, ""},

		"no surge without an update":  {[]sighting{rolling(0, 1, "A"), a, b}, 2, "2 active pods"},
		"surge with a new template":   {[]sighting{rolling(0, 1, "A"), a, rolling(1, 1, "B"), b}, 2, ""},
		"surge on the way back":       {[]sighting{rolling(0, 1, "A"), a, rolling(1, 1, "B"), rolling(2, 1, "A"), b}, 2, ""},
		"more than the surge":         {[]sighting{rolling(0, 1, "A"), rolling(1, 1, "B"), a, b, pod(1, "c", "2", true)}, 3, "3 active pods"},
		"surge before there was a B":  {[]sighting{rolling(0, 1, "A"), a, b, rolling(1, 1, "B")}, 2, "2 active pods"},
		"surge does not come for two": {[]sighting{rolling(0, 0, "A"), rolling(1, 0, "B"), a, b}, 2, "2 active pods"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := replayed(test.sightings)
			if report.Peak != test.peak {
				t.Errorf("peak %d, want %d", report.Peak, test.peak)
			}
			expectViolation(t, report, "I1", test.violation)
		})
	}
}

// expectViolation expects one violation of the invariant whose text contains words; none if words is empty.
func expectViolation(t *testing.T, report *Report, invariant, words string) {
	t.Helper()
	got := fmt.Sprint(report.Violations)
	switch {
	case words == "" && len(report.Violations) > 0:
		t.Errorf("got %s, want no violation", got)
	case words != "" && (len(report.Violations) != 1 || !strings.Contains(got, words) || report.Violations[0].Invariant != invariant):
		t.Errorf("got %s, want a violation of %s with %q", got, invariant, words)
	}
}

// A controller that was blind may delete pods late, but must not create more.
func TestReplayBlind(t *testing.T) {
	a, b := pod(0, "a", "0", true), pod(0, "b", "1", true)
	tests := map[string]struct {
		sightings []sighting
		violation string
	}{
		"late":     {[]sighting{manager(0, 2), a, b, manager(1, 1), pod(60, "b", "1", true)}, ""},
		"too late": {[]sighting{manager(0, 2), a, b, manager(1, 1), pod(90, "b", "1", true)}, "2 active pods"},
		"one more": {[]sighting{manager(0, 2), a, manager(1, 1), pod(60, "b", "1", true)}, "2 active pods"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expectViolation(t, replayedBlind(test.sightings, time.Minute), "I1", test.violation)
		})
	}
}

// The status must be true.
func TestReplayClaims(t *testing.T) {
	a, b := readyPod(0, "a", "0"), readyPod(0, "b", "1")
	old := sighting{uid: "old", name: "ns/m", owner: &ownerState{replicas: 2}, at: at(0)}
	two := claim{generation: 2, active: 2, ready: 2, done: true}
	tests := map[string]struct {
		sightings []sighting
		violation string
	}{
		"true":                         {[]sighting{manager(0, 2), a, b, saying(5, 2, two)}, ""},
		"nothing yet":                  {[]sighting{manager(0, 2), saying(0, 2, claim{generation: 2})}, ""},
		"true a while ago":             {[]sighting{manager(0, 2), a, b, gone(readyPod(5, "b", "1")), saying(12, 2, two)}, ""},
		"true too long ago":            {[]sighting{manager(0, 2), a, b, gone(readyPod(1, "b", "1")), saying(12, 2, claim{generation: 2, active: 2, ready: 2})}, "says 2 pods"},
		"a count that never was":       {[]sighting{manager(0, 2), a, b, saying(7, 2, claim{generation: 2, active: 3, ready: 2})}, "says 3 pods, 2 ready"},
		"a ready count that never was": {[]sighting{manager(0, 2), a, pod(0, "b", "1", true), saying(7, 2, claim{generation: 2, active: 2, ready: 2})}, "says 2 pods, 2 ready"},
		"what was seen and done mixed": {[]sighting{manager(0, 2), a, b, saying(1, 2, claim{generation: 2, active: 3, ready: 2})}, ""},
		"further off than the changes": {[]sighting{manager(0, 2), a, b, saying(1, 2, claim{generation: 2, active: 5, ready: 2})}, "says 5 pods"},
		"pods of its dead namesake":    {[]sighting{old, ownedBy("old", a), ownedBy("old", b), gone(old), manager(0, 2), saying(5, 2, claim{generation: 2, active: 2, ready: 2})}, "says 2 pods, 2 ready"},
		"a generation to come":         {[]sighting{manager(0, 2), a, b, saying(5, 2, claim{generation: 3, active: 2, ready: 2})}, "about generation 3"},
		"an old generation":            {[]sighting{manager(0, 2), a, b, saying(5, 5, claim{generation: 1, active: 2, ready: 2, done: true})}, ""},
		"Ready without pods":           {[]sighting{manager(0, 2), saying(5, 2, claim{generation: 2, done: true})}, "says Ready"},
		"Ready with too few":           {[]sighting{manager(0, 2), a, saying(5, 2, claim{generation: 2, active: 1, ready: 1, done: true})}, "says Ready"},
		"Ready once there were enough": {[]sighting{manager(0, 2), a, b, gone(b), saying(5, 2, claim{generation: 2, active: 1, ready: 1, done: true})}, ""},
		"Ready with nothing wanted":    {[]sighting{manager(0, 0), saying(5, 0, claim{generation: 2, done: true})}, ""},
		"said again, it is not news":   {[]sighting{manager(0, 2), a, b, saying(5, 2, two), gone(b), gone(a), saying(60, 2, two)}, ""},
		"the last words of the gone":   {[]sighting{manager(0, 2), gone(saying(5, 2, two))}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { expectViolation(t, replayed(test.sightings), "I5", test.violation) })
	}
}

// No controller may change a decoy.
func TestReplayDecoys(t *testing.T) {
	adopted := ownedBy(testOwner, decoy(""))
	adopted.pod.active = true
	tests := map[string]struct {
		sightings []sighting
		violation string
	}{
		"left alone":                 {[]sighting{manager(0, 1), decoy("app=a"), decoy("app=a")}, ""},
		"deleted":                    {[]sighting{manager(0, 1), decoy("app=a"), gone(decoy("app=a"))}, "a decoy pod was changed or deleted"},
		"about to be deleted":        {[]sighting{manager(0, 1), decoy("app=a"), decoy("app=a, ending")}, "a decoy pod was changed or deleted"},
		"relabelled":                 {[]sighting{manager(0, 1), decoy("app=a"), decoy("app=b")}, "a decoy pod was changed or deleted"},
		"adopted":                    {[]sighting{manager(0, 1), decoy("app=a"), adopted}, "a decoy pod was changed or deleted"},
		"released":                   {[]sighting{manager(0, 1), adopted, decoy("app=a")}, ""},
		"released and then adopted":  {[]sighting{manager(0, 1), adopted, decoy("app=a"), adopted}, "a decoy pod was changed or deleted"},
		"one of ours may be deleted": {[]sighting{manager(0, 1), adopted, gone(adopted)}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { expectViolation(t, replayed(test.sightings), "I4", test.violation) })
	}
}
