package tree_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/status"
	"github.com/mycompany/podmanager/pkg/plugin/plugintest"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
	. "github.com/mycompany/podmanager/pkg/plugin/tree"
)

// seen returns a snapshot of an observation, with the status that the controller would write.
func seen(o plan.Observed, missing ...string) snapshot.Snapshot {
	m := o.Manager
	m.Status, _ = status.Compute(Planned(o))
	m.CreationTimestamp.Time = o.Now.Add(-time.Hour)
	s := snapshot.New(m, o.Pods, o.Revisions, missing, o.Now)
	for _, revision := range s.Stored {
		revision.CreationTimestamp.Time = o.Now.Add(-time.Duration(10-revision.Revision) * time.Minute)
	}
	return s
}

// halted returns a halted rollout: one new pod crashes, one pod is drained for an in-place update, and one old pod is terminating.
func halted() snapshot.Snapshot {
	failing := Pod(3, OfImage("v2"), Crashing)
	failing.OwnerReferences[0].UID = "uid-web"
	m := Manager(4, Image("v2"), InPlace(v1.InPlaceIfPossible, 5), Limits("1", "1"))
	o := RollingOut(m, Pod(0), Pod(1, Gated(corev1.ConditionFalse, time.Second)), Pod(2, Terminating), failing, Pod(10, Phase(corev1.PodPending), OnNode("")))
	m.Status.Rollout = &v1.RolloutStatus{Revision: RevisionFor(m).Name}
	return seen(o)
}

// misconfigured returns a PodManager whose pods are well, while a setting has no effect.
func misconfigured() snapshot.Snapshot {
	s := seen(Observe(Manager(3), Pods3()...))
	meta.SetStatusCondition(&s.Manager.Status.Conditions, metav1.Condition{
		Type: v1.ConditionMisconfigured, Status: metav1.ConditionTrue, Reason: v1.ReasonUnreachable, Message: "failureThreshold is 5, and there are 3 pods",
	})
	return s
}

func TestDraw(t *testing.T) {
	tests := map[string]struct {
		snapshot snapshot.Snapshot
		style    text.Style
	}{
		"ready":                {seen(Observe(Manager(3), Pods3()...)), text.Style{}},
		"halted":               {halted(), text.Style{}},
		"misconfigured":        {misconfigured(), text.Style{}},
		"halted-coloured":      {halted(), text.Style{Coloured: true}},
		"halted-80-columns":    {halted(), text.Style{Width: 80}},
		"halted-20-columns":    {halted(), text.Style{Width: 20}},
		"pods-may-not-be-read": {withoutPods(), text.Style{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			lines := Draw(test.snapshot, test.style)
			plugintest.Golden(t, name, lines)
			for _, line := range lines {
				if width := len([]rune(line)); test.style.Width > 0 && width > test.style.Width {
					t.Errorf("%d columns: %s", width, line)
				}
			}
		})
	}
}

// The list marks a PodManager with a setting that has no effect: nothing else in its line would show it.
func TestListMarksMisconfigured(t *testing.T) {
	if line := List([]snapshot.Snapshot{misconfigured()}, false, text.Style{})[1]; !strings.Contains(line, "AllReplicasAvailable (misconfigured)") {
		t.Errorf("the list says %s", line)
	}
}

// A pod that is only kept for inspection is in the tree, but is not counted.
func TestKeptPodsDoNotCount(t *testing.T) {
	s := seen(Observe(Manager(1), FailedPod(0, time.Minute, 0), Pod(1)))
	if got := text.Join(Draw(s, text.Style{})); !strings.Contains(got, "nginx, 1 pod, 1 finished\n") {
		t.Errorf("got\n%s", got)
	}
}

// An adopted pod counts as one of the current revision. The tree says that its template is not known.
func TestAdoptedPodIsNamed(t *testing.T) {
	s := seen(Observe(Manager(2), Pod(0), Pod(1, Unlabelled)))
	if got := text.Join(Draw(s, text.Style{})); strings.Count(got, "adopted, its template is not known") != 1 {
		t.Errorf("got\n%s", got)
	}
}

// The tree can be drawn on a terminal of any width.
func TestDrawOnAnyWidth(t *testing.T) {
	for width := 1; width < 200; width++ {
		for _, line := range Draw(halted(), text.Style{Width: width}) {
			if got := len([]rune(line)); got > width {
				t.Fatalf("%d columns instead of %d: %s", got, width, line)
			}
		}
	}
}

// leavingPods returns web with a pod for each cause for which pods leave.
func leavingPods() snapshot.Snapshot {
	rules := v1.Disruption{OnDrain: v1.ReplaceDrain, NodeLoss: &v1.NodeLoss{ReplaceAfterSeconds: ptr.To[int32](60)}, MaxPodAgeSeconds: ptr.To[int32](3600)}
	m := Manager(3, Limits("1", "0"), func(m *v1.PodManager) { m.Spec.Disruption = &rules })
	young := func(p *corev1.Pod) { p.CreationTimestamp.Time = Now.Add(-time.Minute) }
	o := Observe(m, Pod(0, young), Pod(1, young, NotReady), Pod(2), Pod(3, young), Pod(4, young))
	o.NodeOf = func(name string) leaving.Node {
		return map[string]leaving.Node{"node-0": {Draining: "is cordoned"}, "node-1": {LostSince: Now.Add(-time.Hour)}}[name]
	}
	return seen(o)
}

// The tree shows why pods leave, and the list shows that pods leave even if the rollout is done.
func TestLeaving(t *testing.T) {
	s := leavingPods()
	plugintest.Golden(t, "leaving", Draw(s, text.Style{}))
	if line := List([]snapshot.Snapshot{s}, false, text.Style{})[1]; !strings.Contains(line, "; 2 more are leaving, too") {
		t.Errorf("the list says %s", line)
	}
	var log Log
	if lines := strings.Join(log.Lines([]snapshot.Snapshot{s}, false), "\n"); !strings.Contains(lines, "pod web-0: Leaving: node node-0 is cordoned") {
		t.Errorf("in a pipe: %s", lines)
	}
}

func withoutPods() snapshot.Snapshot {
	s := halted()
	return snapshot.New(s.Manager, nil, nil, []string{"pods", "controllerrevisions"}, s.Now)
}

func TestList(t *testing.T) {
	all := []snapshot.Snapshot{seen(Observe(Manager(3), Pods3()...)), halted()}
	plugintest.Golden(t, "list", List(all, false, text.Style{}))
	plugintest.Golden(t, "list-of-all-namespaces", List(all, true, text.Style{}))
	plugintest.Golden(t, "list-60-columns", List(all, false, text.Style{Width: 60}))
}

// The list shows that a PodManager is paused, whether or not pods wait for it to be resumed.
func TestListShowsPaused(t *testing.T) {
	changed := Manager(3, Image("v2"), Paused)
	tests := map[string]struct {
		snapshot snapshot.Snapshot
		want     string
	}{
		"at rest":                 {seen(Observe(Manager(3, Paused), Pods3()...)), "AllReplicasAvailable (paused)"},
		"not ready":               {seen(Observe(Manager(3, Paused), Pod(0), Pod(1), Pod(2, Crashing))), "PodsNotReady (paused)"},
		"with pods to update":     {seen(RollingOut(changed, Pods3()...)), "Paused"},
		"not paused":              {seen(Observe(Manager(3), Pods3()...)), "AllReplicasAvailable"},
		"paused, being deleted":   {seen(Observe(Manager(3, Paused, Deleting), Pods3()...)), "Terminating"},
		"paused and not seen yet": {snapshot.New(Manager(3, Paused), nil, nil, nil, Now), "Unobserved (paused)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			lines := List([]snapshot.Snapshot{test.snapshot}, false, text.Style{})
			// At least two blanks separate columns.
			if cells := regexp.MustCompile("  +").Split(lines[1], -1); cells[1] != test.want {
				t.Errorf("the state is %q, want %q", cells[1], test.want)
			}
		})
	}
}

// In a pipe, each change is one line, and unchanged state is not repeated.
func TestLog(t *testing.T) {
	var log Log
	first := log.Lines([]snapshot.Snapshot{seen(Observe(Manager(3), Pods3()...))}, false)
	want := "web: AllReplicasAvailable (3 wanted, 3 updated, 3 available): 3 of 3 pods available\npod web-0: Available\npod web-1: Available\npod web-2: Available"
	if got := strings.Join(first, "\n"); got != want {
		t.Errorf("at first: %s", got)
	}
	if again := log.Lines([]snapshot.Snapshot{seen(Observe(Manager(3), Pods3()...))}, false); len(again) > 0 {
		t.Errorf("nothing has changed, but: %v", again)
	}
	fewer := seen(Observe(Manager(2), Pod(0), Pod(1, NotReady)))
	want = "web: PodsNotReady (2 wanted, 2 updated, 1 available): 1 of 2 pods ready; web-1: running\npod web-1: NotReady: running\npod web-2: gone"
	if got := strings.Join(log.Lines([]snapshot.Snapshot{fewer}, false), "\n"); got != want {
		t.Errorf("then: %s", got)
	}
}
