package simulate_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/plugintest"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// play runs a simulation and checks its outcome.
func play(t *testing.T, live snapshot.Snapshot, wanted *v1.PodManager, o simulate.Options, want simulate.Outcome) simulate.Report {
	t.Helper()
	report, err := simulate.Run(live, wanted, o)
	if err != nil {
		t.Fatal(err)
	}
	if report.Outcome != want {
		t.Errorf("outcome %s, want %s:\n%s", report.Outcome, want, text.Join(report.Lines(text.Style{}, true)))
	}
	return report
}

func TestFirstRollout(t *testing.T) {
	live := snapshot.Snapshot{Now: Now}
	plugintest.Golden(t, "first", play(t, live, Manager(3), options(t), simulate.Completed).Lines(text.Style{}, false))
	// There is no other revision that a halt could protect.
	plugintest.Golden(t, "first-fails", play(t, live, Manager(3), options(t, "every"), simulate.Deadline).Lines(text.Style{}, false))
	plugintest.Golden(t, "first-paused", play(t, live, Manager(3, Paused), options(t), simulate.Held).Lines(text.Style{}, false))
}

// A pod that has the label but no controller is adopted and counted.
func TestAdoption(t *testing.T) {
	orphan := atRest(1).Pods[0]
	orphan.OwnerReferences = nil
	live := snapshot.Snapshot{Now: Now, Orphans: []*corev1.Pod{orphan}}
	report := play(t, live, Manager(2), options(t), simulate.Completed)
	if report.Totals.Created != 1 || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "will be adopted") {
		t.Errorf("got %+v, %v", report.Totals, report.Notes)
	}
}

// A rollout that takes longer than the deadline is late but may still succeed.
func TestDeadline(t *testing.T) {
	live := atRest(2, Limits("1", "0"))
	o := options(t)
	o.ReadyAfter = 15 * time.Minute
	plugintest.Golden(t, "deadline-late", play(t, live, with(live, Image("v2")), o, simulate.Completed).Lines(text.Style{}, false))

	o = options(t)
	o.NeverReady, _ = simulate.ParseChoice("--never-ready", []string{"every 2"})
	plugintest.Golden(t, "deadline", play(t, live, with(live, Image("v2")), o, simulate.Deadline).Lines(text.Style{}, false))

	back := atRest(2, Limits("1", "0"), OnFailure(v1.RollbackOnFailure))
	plugintest.Golden(t, "deadline-rolled-back", play(t, back, with(back, Image("v2")), o, simulate.RolledBack).Lines(text.Style{}, false))
}

// A rollout that completes before all pods are available does not claim that they are.
func TestCompletesBeforeAllAreAvailable(t *testing.T) {
	live, o := atRest(4), options(t)
	o.NeverReady, _ = simulate.ParseChoice("--never-ready", []string{"every 4"})
	report := play(t, live, with(live, Image("v2")), o, simulate.Waiting)
	plugintest.Golden(t, "completes-before-all", report.Lines(text.Style{}, false))
}

// Containers stop within StopAfter plus the sleep of a preStop hook, limited by the grace period.
func TestTimeToStop(t *testing.T) {
	tests := map[string]struct {
		stop, preStop, grace int64
		want                 float64
	}{
		"at once":                     {0, 0, 30, 0},
		"a while":                     {7, 0, 30, 7},
		"with a hook that sleeps":     {7, 15, 30, 22},
		"until they are killed":       {100, 0, 30, 30},
		"a longer grace period":       {100, 0, 90, 90},
		"no grace period: by default": {100, 0, -1, 30},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live := atRest(2)
			for _, pod := range live.Pods {
				if pod.Spec.TerminationGracePeriodSeconds = &test.grace; test.grace < 0 {
					pod.Spec.TerminationGracePeriodSeconds = nil
				}
				if test.preStop > 0 {
					pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: test.preStop}}}
				}
			}
			o := options(t)
			o.StopAfter = time.Duration(test.stop) * time.Second
			if got := play(t, live, with(live, replicas(1)), o, simulate.Completed).Totals.Seconds; got != test.want {
				t.Errorf("%v s, want %v s", got, test.want)
			}
		})
	}
}

// Pods that fail now are assumed to keep failing, and the report says so.
func TestTroubles(t *testing.T) {
	live := atRest(3, Limits("0", "1"))
	Crashing(live.Pods[1])
	live.Manager.Spec.FailurePolicy.OnFailure = v1.HaltOnFailure
	report := play(t, live, with(live, replicas(4)), options(t), simulate.Waiting)
	if want := "web-1 is not ready now"; len(report.Notes) != 1 || !strings.Contains(report.Notes[0], want) {
		t.Errorf("notes: %v, want %s", report.Notes, want)
	}
	// A new template replaces it first.
	report = play(t, live, with(live, Image("v2")), options(t), simulate.Completed)
	if first := report.Steps[1].Events[0]; first.Action != simulate.Deleted || first.Pod != "web-1" {
		t.Errorf("first %+v", first)
	}
	// A pod that has just started is still expected to become ready.
	started := atRest(2)
	started.Pods[0].Status.Conditions = nil
	started.Pods[0].CreationTimestamp = metav1.NewTime(Now.Add(-4 * time.Second))
	started.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Now.Add(-3 * time.Second))}},
	}}
	if got := play(t, started, with(started), options(t), simulate.Completed).Totals.Seconds; got != 7 {
		t.Errorf("ready after %v s, want 7 s", got)
	}
}

// A simulation continues a rollout in progress, even if a kubelet has yet to carry out a change.
func TestGoesOn(t *testing.T) {
	live := atRest(3, Limits("0", "1"), InPlace(v1.InPlaceIfPossible, 0))
	o := options(t)
	wanted := with(live, Image("v2"))
	whole := play(t, live, wanted, o, simulate.Completed)
	updating := live.Pods[2]
	InPlaceTo("v2", 0, time.Second)(updating)
	updating.Generation = 2
	updating.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", ImageID: "id-before", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Now.Add(-time.Hour))}},
	}}
	rest := play(t, live, wanted, o, simulate.Completed)
	if rest.Totals.UpdatedInPlace != 2 || rest.Totals.LowestAvailable != 2 || rest.Totals.Seconds != whole.Totals.Seconds {
		t.Errorf("got %+v, and from the start %+v", rest.Totals, whole.Totals)
	}
}

// If the user may not read pods, the pods of a PodManager at rest are derived from its status.
func TestWithoutPods(t *testing.T) {
	full := atRest(3, Limits("1", "0"))
	s := snapshot.New(full.Manager, nil, nil, []string{"pods", "controllerrevisions"}, Now)
	report := play(t, s, with(full, Image("v2")), options(t), simulate.Completed)
	if report.Totals.Created != 3 || report.Totals.MostPods != 4 || len(report.Notes) != 1 ||
		!strings.Contains(report.Notes[0], "you may not read pods and controllerrevisions") {
		t.Errorf("got %+v, %v", report.Totals, report.Notes)
	}
	s.Manager.Status.UpdatedReplicas, s.User = 2, "jane"
	const advice = "the role view grants this right: kubectl create rolebinding jane-view"
	if _, err := simulate.Run(s, with(full, Image("v2")), options(t)); err == nil || !strings.Contains(err.Error(), advice) {
		t.Errorf("in the middle of a rollout: %v", err)
	}
}

// If the user may read revisions and no pods, the revision of the pods is the stored one, whatever its name.
func TestWithoutPodsButWithRevisions(t *testing.T) {
	full := atRest(3, Limits("1", "0"))
	stored := full.Stored[0].DeepCopy()
	stored.Name, stored.Labels[v1.LabelRevision] = "web-other", "other"
	full.Manager.Status.CurrentRevision, full.Manager.Status.UpdateRevision = stored.Name, stored.Name
	s := snapshot.New(full.Manager, nil, []*appsv1.ControllerRevision{stored}, []string{"pods"}, Now)
	if report := play(t, s, with(full, Image("v2")), options(t), simulate.Completed); report.Totals.Created != 3 {
		t.Errorf("got %+v, %v", report.Totals, report.Notes)
	}
}

// A rollback works even if the controller has not stored the first revision yet and only keeps it in memory.
func TestRollbackToWhatIsNotStored(t *testing.T) {
	live := atRest(3, Limits("1", "0"), OnFailure(v1.RollbackOnFailure))
	live.Stored, live.Manager.Status.CurrentRevision = nil, ""
	report := play(t, live, with(live, Image("v2")), options(t, "every"), simulate.RolledBack)
	if report.Totals.Created != 1 || report.Totals.Deleted != 1 {
		t.Errorf("got %+v", report.Totals)
	}
}

// Other controllers open their own readiness gates.
func TestForeignReadinessGate(t *testing.T) {
	gated := func(m *v1.PodManager) {
		m.Spec.Image, m.Spec.Template = "", &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", Image: "v2"}}, ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "example.com/registered"}},
		}}
	}
	live := atRest(2)
	play(t, live, with(live, gated), options(t), simulate.Completed)
}

// A simulation of a thousand pods is fast, no matter how long the simulated time is.
func TestManyPods(t *testing.T) {
	live := atRest(1000)
	o := options(t)
	o.NeverReady, _ = simulate.ParseChoice("--never-ready", []string{"every 7"})
	began := time.Now()
	limits := Limits("25%", "10%") // fewer than the number of pods that never become ready
	report := play(t, live, with(live, Image("v2"), limits, deadline(600)), o, simulate.Deadline)
	t.Logf("%v for %v s, in %d steps", time.Since(began), report.Totals.Seconds, len(report.Steps))
	if report.Totals.LowestAvailable != 900 || report.Totals.MostPods != 1250 || report.Totals.Seconds < 600 {
		t.Errorf("got %+v", report.Totals)
	}
}

// A long table is cut in the middle.
func TestLongTable(t *testing.T) {
	live := atRest(100, Limits("1", "0"))
	report := play(t, live, with(live, Image("v2")), options(t), simulate.Completed)
	if report.Totals.Created != 100 || report.Totals.LowestAvailable != 100 || report.Totals.MostPods != 101 {
		t.Errorf("got %+v", report.Totals)
	}
	lines, all := report.Lines(text.Style{}, false), report.Lines(text.Style{}, true)
	if len(lines) > 60 || len(all) < 100 || !strings.Contains(text.Join(lines), "more steps; --all shows them") {
		t.Errorf("%d lines, %d in all", len(lines), len(all))
	}
	for width := 1; width < 150; width++ {
		for _, line := range report.Lines(text.Style{Width: width}, false) {
			if got := len([]rune(line)); got > width {
				t.Fatalf("%d columns instead of %d: %s", got, width, line)
			}
		}
	}
}

func TestParseChoice(t *testing.T) {
	for _, value := range []string{"every 0", "every x", "every 2 3", "", "web-1 web-2"} {
		if _, err := simulate.ParseChoice("--fail", []string{value}); err == nil {
			t.Errorf("%q should be refused", value)
		}
	}
	live := atRest(4, Limits("0", "1"), OnFailure(v1.ContinueOnFailure))
	for _, value := range []string{"evry", "web", "web-", "web-x", "other-1", "pod/evry"} {
		want := `--fail is "` + strings.TrimPrefix(value, "pod/") + `"; write every, "every 3" for each third pod, or the name of a pod, such as web-0`
		if _, err := simulate.Run(live, with(live, Image("v2")), options(t, value)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", value, err, want)
		}
	}
	for value, want := range map[string]string{"every=3": "every 3rd new pod", "every 12": "every 12th new pod", "pod/web-3": "web-3", "every": "every new pod"} {
		report, err := simulate.Run(live, with(live, Image("v2")), options(t, value))
		if err != nil || len(report.Assumed.Fail) != 1 || report.Assumed.Fail[0] != want {
			t.Errorf("%s: got %v, %v", value, report.Assumed.Fail, err)
		}
	}
}
