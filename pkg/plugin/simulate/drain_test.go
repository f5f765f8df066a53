package simulate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plugin/plugintest"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// floor returns a PodDisruptionBudget for the pods of web.
func floor(least string) policyv1.PodDisruptionBudget {
	budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "floor"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelManager: "web"}}
	budget.Spec.MinAvailable = ptr.To(intstr.Parse(least))
	return budget
}

func replaceDrained(m *v1.PodManager) { m.Spec.Disruption = &v1.Disruption{OnDrain: v1.ReplaceDrain} }

// together puts all pods on the same node.
func together(live snapshot.Snapshot) snapshot.Snapshot {
	for _, pod := range live.Pods {
		pod.Spec.NodeName = "node-0"
	}
	return live
}

// drainCase is a drain, and how it ends.
type drainCase struct {
	live   snapshot.Snapshot
	drain  simulate.Drain
	change func(*v1.PodManager)
	want   simulate.Outcome

	done             bool
	after            float64
	lowest, most     int
	evicted, created int
	blocked          string // the beginning of BlockedBy
}

func TestDrain(t *testing.T) {
	never := func(m *v1.PodManager) { m.Spec.PodReplacementPolicy = v1.TerminationComplete }
	tests := map[string]drainCase{
		"replaced first": {live: atRest(1, replaceDrained), drain: simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("1")}},
			want: simulate.Completed, done: true, after: 11, lowest: 1, most: 2, evicted: 1, created: 1},
		"without a budget": {live: atRest(1, replaceDrained), drain: simulate.Drain{Nodes: []string{"node-0"}},
			want: simulate.Completed, done: true, after: 1, lowest: 0, most: 1, evicted: 1, created: 1},
		"not replaced, it blocks": {live: atRest(1), drain: simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("1")}},
			want: simulate.DrainBlocked, lowest: 1, most: 1, blocked: "web-0: PodDisruptionBudget floor needs 1 healthy pod and has 1"},
		"not replaced, one may be missing": {live: atRest(3), drain: simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("2")}},
			want: simulate.Completed, done: true, after: 1, lowest: 2, most: 3, evicted: 1, created: 1},
		"not replaced, no budget, all at once": {live: together(atRest(3)), drain: simulate.Drain{Nodes: []string{"node-0"}},
			want: simulate.Completed, done: true, after: 1, lowest: 0, most: 3, evicted: 3, created: 3},
		"one after the other": {live: together(atRest(3, replaceDrained, Limits("1", "0"))),
			drain: simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("3")}},
			want:  simulate.Completed, done: true, after: 31, lowest: 3, most: 4, evicted: 3, created: 3},
		"two nodes": {live: atRest(3, replaceDrained, Limits("2", "0")),
			drain: simulate.Drain{Nodes: []string{"node-0", "node-2"}, Budgets: []policyv1.PodDisruptionBudget{floor("100%")}},
			want:  simulate.Completed, done: true, after: 11, lowest: 3, most: 5, evicted: 2, created: 2},
		"never two at once": {live: atRest(1, replaceDrained, never), drain: simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("1")}},
			want: simulate.DrainBlocked, lowest: 1, most: 1, blocked: "web-0: PodDisruptionBudget floor needs 1"},
		"no other node": {live: atRest(1, replaceDrained),
			drain: simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("1")}, HasNoOther: true},
			want:  simulate.Waiting, lowest: 1, most: 2, created: 1, blocked: "web-0: PodDisruptionBudget floor needs 1"},
		"more than there can be": {live: atRest(1, replaceDrained), drain: simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("2")}},
			want: simulate.DrainBlocked, lowest: 1, most: 2, created: 1, blocked: "web-0: PodDisruptionBudget floor needs 2 healthy pods and has 2"},
		"two budgets": {live: atRest(1), drain: simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("0"), floor("0")}},
			want: simulate.DrainBlocked, lowest: 1, most: 1, blocked: "web-0: more than one PodDisruptionBudget covers it"},
		"nothing there": {live: atRest(1), drain: simulate.Drain{Nodes: []string{"node-9"}}, want: simulate.Completed, done: true, lowest: 1, most: 1},
		"with a rollout": {live: atRest(2, replaceDrained, Limits("1", "0")), change: Image("v2"),
			drain: simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("2")}},
			want:  simulate.Completed, done: true, after: 11, lowest: 2, evicted: 1},
		"with a maximum age": {live: atRest(1, replaceDrained, maxAge(600)), drain: simulate.Drain{Nodes: []string{"node-0"}},
			want: simulate.Completed, done: true, after: 1, lowest: 0, most: 1, evicted: 1, created: 1},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

func (test drainCase) check(t *testing.T) {
	o := options(t)
	o.Drain = test.drain
	wanted := with(test.live)
	if test.change != nil {
		test.change(wanted)
	}
	report := play(t, test.live, wanted, o, test.want)
	got, lines := report.Drain, text.Join(report.Lines(text.Style{}, true))
	if got == nil || got.IsDone != test.done || got.Seconds != test.after || got.Evicted != test.evicted || !strings.HasPrefix(got.BlockedBy, test.blocked) ||
		(got.BlockedBy == "") != test.done {
		t.Fatalf("the drain ends as %+v:\n%s", got, lines)
	}
	totals := report.Totals
	if totals.LowestAvailable != test.lowest || test.most > 0 && (totals.MostPods != test.most || totals.Created != test.created) {
		t.Errorf("%+v:\n%s", totals, lines)
	}
	_, outcome, _ := strings.Cut(lines, "Outcome:")
	outcome, _, _ = strings.Cut(outcome, "\n")
	saysSo, stops := strings.Contains(outcome, "the drain does not end"), strings.Contains(lines, "the drain of node-0 is stuck")
	if saysSo == test.done || stops == test.done {
		t.Errorf("the drain ends is %v, but:\n%s", test.done, lines)
	}
}

// The output for a drain that ends, and for one that does not.
func TestDrainLines(t *testing.T) {
	o := options(t)
	o.Drain = simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("3")}, Others: []string{"node-1", "node-7"}}
	live := together(atRest(3, replaceDrained, Limits("1", "0")))
	plugintest.Golden(t, "drain", play(t, live, with(live), o, simulate.Completed).Lines(text.Style{}, false))
	blocked := together(atRest(3))
	plugintest.Golden(t, "drain-blocked", play(t, blocked, with(blocked), o, simulate.DrainBlocked).Lines(text.Style{}, false))
}

// Replacements do not go to the drained node.
func TestDrainPlacement(t *testing.T) {
	live := atRest(2, replaceDrained)
	o := options(t)
	o.Drain = simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("2")}}
	if report := play(t, live, with(live), o, simulate.Completed); !report.Drain.IsDone || report.Totals.Created != 1 || report.Drain.Evicted != 1 {
		t.Errorf("%+v, %+v", report.Drain, report.Totals)
	}
}

// Without pods, nothing is known about a drain. A PodManager that does not exist has no pods.
func TestDrainOfUnknownPods(t *testing.T) {
	full := atRest(1)
	o := options(t)
	o.Drain.Nodes = []string{"node-0"}
	hidden := snapshot.New(full.Manager, nil, nil, []string{"pods"}, Now)
	hidden.User = "jane"
	if _, err := simulate.Run(hidden, with(full), o); err == nil || !strings.Contains(err.Error(), "you may not read pods") ||
		!strings.Contains(err.Error(), "--user=jane") {
		t.Errorf("without pods: %v", err)
	}
	if _, err := simulate.Run(snapshot.Snapshot{Now: Now}, Manager(3), o); err == nil || !strings.Contains(err.Error(), "does not exist yet") {
		t.Errorf("a new one: %v", err)
	}
}

// Pods that leave now still do so in a simulation without a drain: their replacements are not surplus.
func TestLeavingNow(t *testing.T) {
	for cause, message := range map[v1.LeavingCause]string{v1.LeavingForDrain: "node node-0 is cordoned", v1.LeavingForNodeLoss: "node node-0 has been lost since x"} {
		live := atRest(2, replaceDrained, func(m *v1.PodManager) {
			m.Spec.Disruption.NodeLoss = &v1.NodeLoss{ReplaceAfterSeconds: ptr.To[int32](60)}
		})
		live.Manager.Spec.Replicas = ptr.To[int32](1)
		live.Manager.Status.LeavingPods = []v1.LeavingPod{{Name: "web-0", Cause: cause, Message: message}}
		o := options(t)
		report := play(t, live, with(live), o, simulate.Completed)
		isDeleted := func(step simulate.Step) bool {
			return slices.ContainsFunc(step.Events, func(event simulate.Event) bool { return event.Action == simulate.Deleted })
		}
		if slices.ContainsFunc(report.Steps, isDeleted) || report.Totals.LowestAvailable != 2 {
			t.Errorf("%s: %s", cause, text.Join(report.Lines(text.Style{}, true)))
		}
	}
}

// A drain that cannot end does not make the simulation long.
func TestDrainIsQuick(t *testing.T) {
	live := together(atRest(100, replaceDrained, Limits("1", "0"), func(m *v1.PodManager) { m.Spec.MinReadySeconds = 600 }))
	o := options(t)
	o.Drain = simulate.Drain{Nodes: []string{"node-0"}, Budgets: []policyv1.PodDisruptionBudget{floor("100")}, HasNoOther: true}
	began := time.Now()
	report := play(t, live, with(live), o, simulate.Waiting)
	if report.Drain.IsDone || len(report.Steps) > 20 || time.Since(began) > time.Minute {
		t.Errorf("%d steps, %v", len(report.Steps), time.Since(began))
	}
	var pod *corev1.Pod
	if pod = live.Pods[0]; pod.Spec.NodeName != "node-0" {
		t.Error("the simulation has changed its input")
	}
}
