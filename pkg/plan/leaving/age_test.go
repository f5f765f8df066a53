package leaving_test

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// ages sets a maximum age of an hour.
var ages = agesOf(3600)

func TestRenew(t *testing.T) {
	surge, noSurge := Limits("1", "0"), Limits("0", "1")
	complete := func(m *v1.PodManager) { m.Spec.PodReplacementPolicy = v1.TerminationComplete }
	young, old, older := CreatedAgo(time.Minute), CreatedAgo(2*time.Hour), CreatedAgo(3*time.Hour)
	tests := map[string]struct {
		manager       *v1.PodManager
		pods          []*corev1.Pod
		terminating   int
		leave, delete string
	}{
		"the oldest":                         {manager: Manager(3, surge, ages), pods: []*corev1.Pod{Pod(0, old), Pod(1, older), Pod(2, young)}, leave: "web-1"},
		"as old as another":                  {manager: Manager(2, surge, ages), pods: []*corev1.Pod{Pod(1, old), Pod(0, old)}, leave: "web-0"},
		"its replacement starts":             {manager: Manager(2, surge, ages, leaves(v1.LeavingForAge, "web-1")), pods: []*corev1.Pod{Pod(0, old), Pod(1, older), Pod(2, young, NotReady)}, leave: "web-1"},
		"it is replaced":                     {manager: Manager(2, surge, ages, leaves(v1.LeavingForAge, "web-1")), pods: []*corev1.Pod{Pod(0, old), Pod(1, older), Pod(2, young)}, leave: "web-1", delete: "web-1"},
		"surplus is no replacement":          {manager: Manager(2, surge, ages), pods: []*corev1.Pod{Pod(0, old), Pod(1, older), Pod(2, young)}},
		"pending surplus is none, either":    {manager: Manager(2, surge, ages), pods: []*corev1.Pod{Pod(0, old), Pod(1, older), Pod(2, young, NotReady)}},
		"it is replaced, and scaled down":    {manager: Manager(1, surge, ages, leaves(v1.LeavingForAge, "web-1")), pods: []*corev1.Pod{Pod(0, old), Pod(1, older), Pod(2, young)}, leave: "web-1"},
		"another one is down":                {manager: Manager(2, surge, ages), pods: []*corev1.Pod{Pod(0, older), Pod(1, young, NotReady)}},
		"another one is missing":             {manager: Manager(2, surge, ages), pods: []*corev1.Pod{Pod(0, older)}, leave: ""},
		"one leaves, an older one is due":    {manager: Manager(2, surge, ages, leaves(v1.LeavingForAge, "web-0")), pods: []*corev1.Pod{Pod(0, old), Pod(1, older), Pod(2, young, NotReady)}, leave: "web-0"},
		"one leaves, another one is marked":  {manager: Manager(2, surge, ages, leaves(v1.LeavingForAge, "web-0")), pods: []*corev1.Pod{Pod(0, old), Pod(1, Marked), Pod(2, young)}, leave: "web-0"},
		"one leaves, and is marked":          {manager: Manager(2, surge, ages, leaves(v1.LeavingForAge, "web-0")), pods: []*corev1.Pod{Pod(0, old, Marked), Pod(1, young), Pod(2, young)}},
		"one leaves, no surge any more":      {manager: Manager(2, noSurge, ages, leaves(v1.LeavingForAge, "web-0")), pods: []*corev1.Pod{Pod(0, old), Pod(1, young), Pod(2, young)}},
		"it is down itself":                  {manager: Manager(2, surge, ages), pods: []*corev1.Pod{Pod(0, older, NotReady), Pod(1, young)}, leave: "web-0"},
		"the only one":                       {manager: Manager(1, surge, ages), pods: []*corev1.Pod{Pod(0, old)}, leave: "web-0"},
		"the only one, scaled to zero":       {manager: Manager(0, surge, ages), pods: []*corev1.Pod{Pod(0, old)}},
		"young":                              {manager: Manager(1, surge, ages), pods: []*corev1.Pod{Pod(0, young)}},
		"no surge":                           {manager: Manager(2, noSurge, ages), pods: []*corev1.Pod{Pod(0, old), Pod(1, young)}, delete: "web-0"},
		"no surge, another one is down":      {manager: Manager(2, noSurge, ages), pods: []*corev1.Pod{Pod(0, old), Pod(1, young, NotReady)}},
		"no surge, another one is missing":   {manager: Manager(2, noSurge, ages), pods: []*corev1.Pod{Pod(0, old)}},
		"no surge, the last one is going":    {manager: Manager(2, noSurge, ages), pods: []*corev1.Pod{Pod(0, old), Pod(1, young)}, terminating: 1},
		"the last one of an old revision":    {manager: Manager(2, surge, ages), pods: []*corev1.Pod{Pod(0, old), Pod(1, older, V2)}, leave: "web-1"},
		"it stays without a surge":           {manager: Manager(2, noSurge, ages), pods: []*corev1.Pod{Pod(0, old), Pod(1, older, V2)}, delete: "web-0"},
		"never two":                          {manager: Manager(1, Limits("1", "1"), complete, ages), pods: []*corev1.Pod{Pod(0, old)}, delete: "web-0"},
		"never two, none may be unavailable": {manager: Manager(1, surge, complete, ages), pods: []*corev1.Pod{Pod(0, old)}, leave: "web-0"},
		"one is marked for deletion":         {manager: Manager(2, surge, ages), pods: []*corev1.Pod{Pod(0, old), Pod(1, young, Marked)}},
		"no maximum":                         {manager: Manager(1, surge, drains), pods: []*corev1.Pod{Pod(0, older)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found := leaving.Find(test.manager, nil, test.pods, Now)
			deleted := ""
			if pod := found.Renew(test.manager, test.terminating, isOld, Now); pod != nil {
				deleted = pod.Name
			}
			if namesOf(found.Leave) != test.leave || deleted != test.delete {
				t.Errorf("%q leaves, %q is deleted", namesOf(found.Leave), deleted)
			}
			gone := 0
			if test.leave != "" {
				gone = 1
			}
			if len(found.Stay) != len(test.pods)-gone {
				t.Errorf("%d of %d pods stay", len(found.Stay), len(test.pods))
			}
		})
	}
}

// Pods that were created together are replaced up to 10 % before their time, and each at its own time, which its UID determines.
func TestJitter(t *testing.T) {
	seen := map[time.Duration]bool{}
	for number := range 100 {
		uid := func(p *corev1.Pod) { p.UID = types.UID(strconv.Itoa(number)) }
		found := leaving.Found{Stay: []*corev1.Pod{Pod(0, CreatedAgo(0), uid)}}
		found.Renew(Manager(1, ages), 0, isOld, Now)
		if found.Again <= 54*time.Minute || found.Again > time.Hour {
			t.Errorf("pod %d is replaced after %v", number, found.Again)
		}
		seen[found.Again] = true
		again := leaving.Found{Stay: []*corev1.Pod{Pod(0, CreatedAgo(time.Minute), uid)}}
		again.Renew(Manager(1, ages), 0, isOld, Now)
		if again.Again != found.Again-time.Minute {
			t.Errorf("a minute later, pod %d is replaced after %v, not %v", number, again.Again, found.Again-time.Minute)
		}
	}
	if len(seen) < 70 {
		t.Errorf("100 pods have %d ages", len(seen))
	}
}

// isOld reports whether a pod stands for one whose replacement would have another revision.
func isOld(pod *corev1.Pod) bool {
	return pod.Labels[v1.LabelRevision] != Pod(0).Labels[v1.LabelRevision]
}

func agesOf(seconds int32) func(*v1.PodManager) {
	return ruled(v1.Disruption{MaxPodAgeSeconds: &seconds})
}
