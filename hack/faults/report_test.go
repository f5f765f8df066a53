package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestReplay(t *testing.T) {
	start := time.Now()
	manager := func(second, replicas int) sighting {
		return sighting{uid: "m", name: "ns/m", owner: &ownerState{replicas: replicas}, at: start.Add(time.Duration(second) * time.Second)}
	}
	pod := func(second int, uid, index string, active bool) sighting {
		return sighting{uid: types.UID(uid), name: "ns/m-" + index, pod: &podState{owner: "m", index: index, active: active},
			at: start.Add(time.Duration(second) * time.Second)}
	}
	gone := func(seen sighting) sighting { seen.gone = true; return seen }
	tests := map[string]struct {
		sightings []sighting
		peak      int
		violation string
	}{
		"as wanted":        {[]sighting{manager(0, 2), pod(0, "a", "0", true), pod(0, "b", "1", true)}, 2, ""},
		"one too many":     {[]sighting{manager(0, 1), pod(0, "a", "0", true), pod(0, "b", "1", true)}, 2, "2 active pods"},
		"replaced":         {[]sighting{manager(0, 1), pod(0, "a", "0", true), pod(0, "a", "0", false), pod(0, "b", "1", true)}, 1, ""},
		"same name again":  {[]sighting{manager(0, 1), pod(0, "a", "0", true), gone(pod(0, "a", "0", false)), pod(0, "b", "0", true)}, 1, ""},
		"index twice":      {[]sighting{manager(0, 2), pod(0, "a", "0", true), pod(0, "b", "0", true)}, 2, "2 pods with index 0"},
		"scaling down":     {[]sighting{manager(0, 2), pod(0, "a", "0", true), pod(0, "b", "1", true), manager(1, 1), pod(9, "b", "1", true)}, 2, ""},
		"never got around": {[]sighting{manager(0, 2), pod(0, "a", "0", true), pod(0, "b", "1", true), manager(1, 1), pod(12, "b", "1", true)}, 2, "2 active pods"},
		"back and forth":   {[]sighting{manager(0, 2), pod(0, "a", "0", true), manager(1, 1), manager(2, 2), pod(12, "b", "1", true)}, 2, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newReplay(10 * time.Second)
			for i, seen := range test.sightings {
				seen.version = uint64(i + 1)
				r.step(seen)
			}
			got := fmt.Sprint(r.report.Violations)
			if r.report.Peak != test.peak || (len(r.report.Violations) == 0) != (test.violation == "") || !strings.Contains(got, test.violation) {
				t.Errorf("peak %d, violations %q; want %d, %q", r.report.Peak, got, test.peak, test.violation)
			}
		})
	}
}
