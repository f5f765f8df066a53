package rollout_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// replacesDrained makes pods leave nodes that are being drained.
func replacesDrained(m *v1.PodManager) {
	m.Spec.Disruption = &v1.Disruption{OnDrain: v1.ReplaceDrain}
}

// replacesOld makes pods leave when they are two and a half hours old.
func replacesOld(m *v1.PodManager) {
	m.Spec.Disruption = &v1.Disruption{MaxPodAgeSeconds: ptr.To[int32](9000)}
}

// cordoned makes an observation in which the nodes with these names, and no others, are being drained.
func cordoned(names ...string) func(*plan.Observed) {
	return func(o *plan.Observed) {
		nodes := map[string]leaving.Node{}
		for _, name := range names {
			nodes[name] = leaving.Node{Draining: "is cordoned"}
		}
		o.NodeOf = func(name string) leaving.Node { return nodes[name] }
	}
}

// interrupted gives a pod a resize that has begun. restarts is whether the kubelet may restart the container for it.
func interrupted(restarts bool) func(*corev1.Pod) {
	containers := ""
	if restarts {
		containers = `,"containers":{"app":{"imageID":"id"}}`
	}
	return annotatedWith(v1.AnnotationInPlace, `{"revision":"`+RevisionFor(Next(0)).Hash+`","begun":true`+containers+`}`)
}

// A leaving pod serves until it is gone: no update in place keeps it out of its Services, and none begins on a node that is being drained.
func TestLeavingInPlace(t *testing.T) {
	graceful, one := InPlace(v1.InPlaceIfPossible, 30), Limits("0", "1")
	ready := ReadyFor(time.Hour)
	tests := map[string]struct {
		observed plan.Observed
		want     string
	}{
		"drained": {
			observed: With(RollingOut(Next(2, graceful, one, replacesDrained), Pod(0, Closed), Pod(1, Open)), cordoned("node-0")),
			want:     "+2 new, Open 0",
		},
		"updated": {
			observed: With(RollingOut(Next(2, graceful, one, replacesDrained), Pod(0, Closed, InPlaceTo("v2", 0, time.Second), Runs("v2", "id-after", 1)), Pod(1, Open)),
				cordoned("node-0")),
			want: "+2 new, Open 0",
		},
		"yet to be restarted": {
			observed: With(RollingOut(Next(2, graceful, one, replacesDrained), Pod(0, Closed, InPlaceTo("v2", 0, time.Second), Runs("nginx", "id-before", 0)), Pod(1, Open)),
				cordoned("node-0")),
			want: "+2 new",
		},
		"interrupted": {
			observed: With(RollingOut(Next(2, graceful, one, replacesDrained), Pod(0, ready, interrupted(false)), Pod(1, Open)), cordoned("node-0")),
			want:     "+2 new, Restore 0",
		},
		"interrupted, may be restarted, available": {
			observed: With(RollingOut(Next(2, graceful, one, replacesDrained), Pod(0, ready, interrupted(true)), Pod(1, Open)), cordoned("node-0")),
			want:     "+2 new",
		},
		"interrupted, may be restarted, unavailable": {
			observed: With(RollingOut(Next(2, graceful, one, replacesDrained), Pod(0, NotReady, interrupted(true)), Pod(1, Open)), cordoned("node-0")),
			want:     "+2 new, Restore 0",
		},
		"another one is too old": {
			observed: Observe(Manager(2, graceful, one, replacesOld), Pod(0, CreatedAgo(3*time.Hour)), Pod(1, ready, interrupted(true))),
			want:     "Restore 1",
		},
		"about to leave": {
			observed: With(RollingOut(Next(3, InPlace(v1.InPlaceIfPossible, 0), Limits("0", "2"), replacesDrained), Pods3()...), cordoned("node-0", "node-1", "node-2")),
			want:     "+3 new, +4 new, -2",
		},
		"about to leave, InPlaceOnly": {
			observed: With(RollingOut(Next(3, InPlace(v1.InPlaceOnly, 0), Limits("0", "2"), replacesDrained), Pods3()...), cordoned("node-0", "node-1", "node-2")),
			want:     "+3 new",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ActionsOf(plan.Make(test.observed)); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// A drain does not bring back a failure that is over: neither while the replacement of the failed pod leaves, nor when it is gone.
func TestDrainRevivesNoFailure(t *testing.T) {
	for name, replicas := range map[string]int32{"while the revision bakes": 3, "during the rollout": 4} {
		t.Run(name, func(t *testing.T) {
			m := Next(replicas, Rollback, MaxFailed("1"), Limits("0", "1"), replacesDrained)
			pods := []*corev1.Pod{Pod(0, V2), Pod(2, V2), Pod(4, V2, Replacing("web-1"), CreatedAgo(4*time.Minute)), FailedPod(1, 5*time.Minute, 0, V2)}
			if replicas > 3 {
				pods = append(pods, Pod(5, NotReady))
			}
			s := Tell(t, m, pods...)
			check := func(when string, status v1.PodManagerStatus) {
				t.Helper()
				if s.HasNotFailed(status, when); failingIn(status) > 0 {
					t.Errorf("%s: failing are %v", when, status.Rollout.Failing)
				}
			}
			cordoned("node-4")(&s.O)
			decided := plan.Make(s.O)
			check("it leaves", s.After(time.Second))
			if len(decided.Create) != 1 {
				t.Fatalf("plans %s", ActionsOf(decided))
			}
			next := Created(decided.Create[0], V2, NotReady, OnNode("node-9"), CreatedAgo(-time.Second))
			s.O.Pods = append(s.O.Pods, next)
			check("its replacement starts", s.After(time.Minute))
			ReadyFor(-time.Minute)(next)
			s.O.Pods = append(s.O.Pods[:2:2], s.O.Pods[3:]...) // web-4 is gone
			cordoned("node-0")(&s.O)
			check("another one leaves", s.After(time.Second))
			check("another one has left for long", s.After(time.Minute))
		})
	}
}

// failingIn returns how many pods count as failing in a status.
func failingIn(status v1.PodManagerStatus) (count int) {
	if status.Rollout == nil {
		return 0
	}
	for _, record := range status.Rollout.Failing {
		if !record.Recovered {
			count++
		}
	}
	return count
}

// A failing pod that leaves keeps its record. Its failure counts once, even when its replacement exists, and when its node is uncordoned and it
// stays.
func TestFailureOfLeavingPodCountsOnce(t *testing.T) {
	s := Tell(t, Next(3, MaxFailed("3"), Limits("0", "1"), replacesDrained), Pod(0), Pod(1), Pod(2, V2, Crashing))
	for _, step := range []struct {
		when   string
		change func()
	}{
		{"it crashes", func() {}},
		{"it leaves", func() { cordoned("node-2")(&s.O) }},
		{"its replacement starts", func() { s.O.Pods = append(s.O.Pods, Pod(3, V2, NotReady, CreatedAgo(-5*time.Second))) }},
		{"it stays after all", func() { cordoned()(&s.O) }},
	} {
		step.change()
		if status := s.After(time.Second); failingIn(status) != 1 {
			t.Errorf("%s: failing are %v", step.when, status.Rollout.Failing)
		}
	}
}

// A failed pod of the old revision whose replacement leaves causes no backoff.
func TestDrainCausesNoBackoff(t *testing.T) {
	o := RollingOut(Next(3, Partition("100%"), replacesDrained), Pod(0), Pod(2), Pod(4, Replacing("web-1")), FailedPod(1, 5*time.Second, 2))
	if got := ActionsOf(plan.Make(With(o, cordoned("node-4")))); got != "+3 old" {
		t.Errorf("plans %q", got)
	}
}

// While a rollout is paused or halted, the replacement of a leaving pod has the revision of that pod, however often its create was refused.
func TestFrozenReplacements(t *testing.T) {
	halted := func(m *v1.PodManager) {
		m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name, Failing: []v1.FailingPod{{
			Name: "web-2", UID: "uid-web-2", Since: metav1.NewTime(Now.Add(-5 * time.Second)),
		}}}
	}
	updated := []*corev1.Pod{Pod(0), Pod(1), Pod(2, V2)}
	tests := map[string]struct {
		change func(*v1.PodManager)
		pods   []*corev1.Pod
		nodes  []string
		counts []int32 // updated pods in the last status
		want   string
	}{
		"paused, a new one":              {change: Paused, pods: updated, nodes: []string{"node-2"}, counts: []int32{0, 1}, want: "+3 new"},
		"paused, an old one":             {change: Paused, pods: updated, nodes: []string{"node-0"}, counts: []int32{1}, want: "+3 old"},
		"halted, a new one":              {change: halted, pods: []*corev1.Pod{Pod(0), Pod(1), Pod(2, V2, Crashing)}, nodes: []string{"node-2"}, counts: []int32{0, 1}, want: "+3 new"},
		"an old one, a new one replaced": {change: Paused, pods: append(updated, Pod(3, V2)), nodes: []string{"node-0", "node-2"}, counts: []int32{1}, want: "+4 old"},
	}
	for name, test := range tests {
		for _, count := range test.counts {
			t.Run(name, func(t *testing.T) {
				o := With(RollingOut(Next(3, test.change, Limits("0", "1"), replacesDrained), test.pods...), cordoned(test.nodes...))
				o.Manager.Status.UpdatedReplicas = count
				if got := ActionsOf(plan.Make(o)); got != test.want {
					t.Errorf("%d updated in the status: got %q, want %q", count, got, test.want)
				}
			})
		}
	}
}

// Without a surge, a pod of an old revision is deleted for its age only if its replacement gets the same revision.
func TestAgeChangesNoRevision(t *testing.T) {
	ages := func(m *v1.PodManager) { m.Spec.Disruption = &v1.Disruption{MaxPodAgeSeconds: ptr.To[int32](86400)} }
	third := Next(0)
	third.Spec.Image = "nginx:3"
	older, ofThird := CreatedAgo(48*time.Hour), func(p *corev1.Pod) { p.Labels[v1.LabelRevision] = RevisionFor(third).Hash }
	hasThird := func(o *plan.Observed) {
		o.Revisions = append(o.Revisions, Stored(third, 2))
		o.Revisions[1].Revision = 3
	}
	for name, test := range map[string]struct {
		partition string
		pods      []*corev1.Pod
		change    func(*plan.Observed)
		want      string
	}{
		"the last one of the current revision":     {"1", []*corev1.Pod{Pod(0, older), Pod(1, V2)}, func(*plan.Observed) {}, "-0"},
		"the last one of a later revision":         {"1", []*corev1.Pod{Pod(0, older, ofThird), Pod(1, V2)}, hasThird, ""},
		"one of three, a newer old revision runs":  {"3", []*corev1.Pod{Pod(0, older), Pod(1), Pod(2, ofThird), Pod(3, V2)}, hasThird, ""},
		"the newest of the old ones, not the last": {"3", []*corev1.Pod{Pod(0), Pod(1, older, ofThird), Pod(2, ofThird), Pod(3, V2)}, hasThird, "-1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := RollingOut(Next(int32(len(test.pods)), Partition(test.partition), Limits("0", "1"), ages), test.pods...)
			if got := ActionsOf(plan.Make(With(o, test.change))); got != test.want {
				t.Errorf("plans %q, want %q", got, test.want)
			}
		})
	}
}
