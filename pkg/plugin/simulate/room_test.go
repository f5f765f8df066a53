package simulate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
	"github.com/mycompany/podmanager/pkg/plugin/plugintest"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
	"github.com/mycompany/podmanager/pkg/plugin/snapshot"
	"github.com/mycompany/podmanager/pkg/plugin/surge"
	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// onePerNode gives pods an image, and a required anti-affinity that keeps them apart by their node.
func onePerNode(image string) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		m.Spec.Image = ""
		m.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", Image: image}},
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelManager: m.Name}},
			}}}},
		}}
	}
}

// spread puts each pod on a node of its own, and returns the cluster's nodes: these, and some more.
func spread(live snapshot.Snapshot, more int) surge.Room {
	room := surge.Room{}
	for i := range len(live.Pods) + more {
		name := fmt.Sprintf("node-%d", i)
		room.Nodes = append(room.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}})
		if i < len(live.Pods) {
			live.Pods[i].Spec.NodeName = name
		}
	}
	return room
}

// With one pod on each node, a rollout waits for a surge pod, unless there is one more node or one pod may be unavailable.
func TestOnePodPerNode(t *testing.T) {
	o, live := options(t), atRest(3, onePerNode("v1"))
	o.Room = spread(live, 0)
	report := play(t, live, with(live, onePerNode("v2")), o, simulate.SurgeBlocked)
	plugintest.Golden(t, "surge-blocked", report.Lines(text.Style{}, false))
	if report.Totals.LowestAvailable != 3 || report.Totals.Deleted != 0 {
		t.Errorf("got %+v", report.Totals)
	}
	play(t, live, with(live, onePerNode("v2"), Limits("0", "1")), o, simulate.Completed)
	o.Room = spread(live, 1)
	if report := play(t, live, with(live, onePerNode("v2")), o, simulate.Completed); report.Totals.MostPods != 4 {
		t.Errorf("got %+v", report.Totals)
	}
	// Two surge pods are allowed, and one finds a node.
	live = atRest(8, onePerNode("v1"), Limits("2", "0"))
	o.Room = spread(live, 1)
	if report := play(t, live, with(live, onePerNode("v2")), o, simulate.Completed); report.Totals.Created != 8 || report.Totals.LowestAvailable != 8 {
		t.Errorf("got %+v", report.Totals)
	}
	o.Room = surge.Room{NodesError: errors.New("forbidden")}
	report = play(t, live, with(live, onePerNode("v2")), o, simulate.Completed)
	if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "nodes cannot be read, so whether a node is left for a surge pod is not known: forbidden") {
		t.Errorf("notes: %v", report.Notes)
	}
}

// The pods that the status names are on nodes that are not known. They take places, too.
func TestOnePodPerNodeWithoutPods(t *testing.T) {
	full := atRest(3, onePerNode("v1"), Limits("1", "0"))
	o := options(t)
	o.Room = spread(full, 0)
	s := snapshot.New(full.Manager, nil, nil, []string{"pods", "controllerrevisions"}, Now)
	play(t, s, with(full, onePerNode("v2")), o, simulate.SurgeBlocked)
	o.Room = spread(full, 1)
	play(t, s, with(full, onePerNode("v2")), o, simulate.Completed)
}

// A quota that has no room for one more pod blocks a rollout that needs a surge pod, and a scale-up, but no rollout without a surge.
func TestQuota(t *testing.T) {
	live := atRest(3)
	o := options(t)
	o.Room.Refusal = &requeue.Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonForbidden,
		Message: `pods "web-3" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`}
	plugintest.Golden(t, "surge-quota", play(t, live, with(live, Image("v2")), o, simulate.SurgeBlocked).Lines(text.Style{}, false))
	play(t, live, with(live, replicas(1)), o, simulate.Completed)
	play(t, live, with(live, replicas(2), Image("v2")), o, simulate.Completed) // the pod that goes makes room
	play(t, live, with(live, Image("v2"), Limits("0", "1")), o, simulate.Completed)
	// A pod is missing, and the quota has no room for it.
	live.Pods = live.Pods[:1]
	o.Room.Refusal.Message = strings.ReplaceAll(o.Room.Refusal.Message, "pods=3", "pods=1")
	report := play(t, live, with(live, replicas(2)), o, simulate.PodsRefused)
	plugintest.Golden(t, "quota", report.Lines(text.Style{}, false))
	play(t, live, with(live, Limits("0", "1")), o, simulate.PodsRefused) // without a surge, there is no room for it either
	live = atRest(3)
	four := atRest(4) // a surge of one, and one may be unavailable
	play(t, four, with(four, Image("v2")), o, simulate.Completed)
	if report := play(t, live, with(live, replicas(3)), o, simulate.Completed); report.Totals.Created != 0 {
		t.Errorf("got %+v", report.Totals)
	}
}

// If the API server refuses pods for a reason other than a quota, the outcome has the API server's message. An update in place needs no new pod.
func TestRejection(t *testing.T) {
	invalid := &requeue.Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonInvalidPod,
		Message: `Pod "web-3" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "data"`}
	account := &requeue.Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonForbidden,
		Message: `pods "web-3" is forbidden: error looking up service account ns/robot: serviceaccount "robot" not found`}
	none, inPlace := snapshot.Snapshot{Now: Now}, InPlace(v1.InPlaceIfPossible, 0)
	tests := map[string]struct {
		live    snapshot.Snapshot
		wanted  *v1.PodManager
		refusal *requeue.Failure
		want    simulate.Outcome
		message string
	}{
		"rejected":          {atRest(3), Manager(3, Image("v2")), invalid, simulate.PodsRefused, `Pod "web-3" is invalid: spec`},
		"without a surge":   {atRest(3), Manager(3, Image("v2"), Limits("0", "1")), account, simulate.PodsRefused, `pods "web-3" is forbidden`},
		"a new one":         {none, Manager(2), account, simulate.PodsRefused, `pods "web-0" is forbidden: error looking up`},
		"a scale-up":        {atRest(2), Manager(4), account, simulate.PodsRefused, `pods "web-2" is forbidden`},
		"no pod is created": {atRest(2), Manager(2), account, simulate.Completed, "2 of 2 pods available"},
		"a scale-down":      {atRest(2), Manager(1), account, simulate.Completed, "1 of 1 pod"},
		"in place": {atRest(2, inPlace, Limits("0", "1")), Manager(2, inPlace, Limits("0", "1"), Image("v2")), account, simulate.Completed,
			"2 of 2 pods available"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.Room = surge.Room{Rejection: test.refusal}
			report := play(t, test.live, test.wanted, o, test.want)
			if !strings.HasPrefix(report.Message, test.message) || len(report.Notes) > 0 || len(report.Steps) > 30 {
				t.Errorf("%q, notes %v, %d steps", report.Message, report.Notes, len(report.Steps))
			}
			checkRefusals(t, report)
			if name == "rejected" {
				plugintest.Golden(t, "rejected", report.Lines(text.Style{}, false))
			}
		})
	}
}

// checkRefusals checks that the same pod is requested again and again, unless the index of a deleted pod becomes free, that its refusal is recorded
// once, and that the refusal names the pod once.
func checkRefusals(t *testing.T, report simulate.Report) {
	t.Helper()
	var refused []simulate.Event
	for _, step := range report.Steps {
		for _, event := range step.Events {
			if event.Action == simulate.Refused {
				refused = append(refused, event)
			}
		}
	}
	want := 0
	if report.Outcome == simulate.PodsRefused {
		want = 1 + report.Totals.Deleted
	}
	if len(refused) != want || want > 0 && !strings.Contains(report.Message, `"`+refused[0].Pod+`"`) {
		t.Errorf("refused: %+v", refused)
	}
	for _, event := range refused {
		if strings.Contains(event.Why, "web-") {
			t.Errorf("%s is refused: %s", event.Pod, event.Why)
		}
	}
}

// A pod that a quota refuses is created as soon as the controller's backoff is over and another pod has gone, however often that happens, and however
// long it takes.
func TestQuotaBecomesFree(t *testing.T) {
	tests := map[string]struct {
		pods    int32
		stop    time.Duration
		longest time.Duration
	}{
		"soon":       {4, time.Second, time.Minute},
		"after 20 s": {2, 20 * time.Second, 100 * time.Second}, // the controller tries after 1, 3, 7, 15 and 31 s
		"many times": {40, time.Second, 10 * time.Minute},
		"after 1 h":  {2, time.Hour, 2*time.Hour + 3*time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live, o := atRest(test.pods, Limits("0", "1")), options(t)
			for _, pod := range live.Pods {
				pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(2 * time.Hour / time.Second))
			}
			o.StopAfter = test.stop
			o.Room.Refusal = &requeue.Failure{Condition: v1.ReasonFailedCreate, Reason: v1.ReasonForbidden,
				Message: `pods "web-9" is forbidden: exceeded quota: small, requested: pods=1, used: pods=4, limited: pods=4`}
			report := play(t, live, with(live, Image("v2")), o, simulate.Completed)
			if got := time.Duration(report.Totals.Seconds) * time.Second; got > test.longest {
				t.Errorf("took %v, want at most %v:\n%s", got, test.longest, text.Join(report.Lines(text.Style{}, true)))
			}
			if name == "soon" {
				plugintest.Golden(t, "quota-becomes-free", report.Lines(text.Style{}, false))
			}
		})
	}
}

// A drain of pods that have to be apart: a replacement waits for a free node that is not drained, and none shares a node with another pod.
func TestDrainOfOnePodPerNode(t *testing.T) {
	replaced := []func(*v1.PodManager){onePerNode("v1"), replaceDrained, Limits("1", "0")}
	tests := map[string]struct {
		more            int
		drain           string
		cordoned        bool
		change          []func(*v1.PodManager)
		want            simulate.Outcome
		done            bool
		evicted, lowest int
	}{
		"a node is free":            {more: 1, drain: "node-0", change: replaced, want: simulate.Completed, done: true, evicted: 1, lowest: 3},
		"it is cordoned already":    {more: 1, drain: "node-0", cordoned: true, change: replaced, want: simulate.Completed, done: true, evicted: 1, lowest: 3},
		"no node is free":           {drain: "node-0", change: replaced, want: simulate.Waiting, lowest: 3},
		"one for two":               {more: 1, drain: "node-0 node-1", change: replaced, want: simulate.Waiting, evicted: 1, lowest: 3},
		"the free one is drained":   {more: 1, drain: "node-0 node-3", change: replaced, want: simulate.Waiting, lowest: 3},
		"not replaced, one is free": {more: 1, drain: "node-0", change: []func(*v1.PodManager){onePerNode("v1")}, want: simulate.Completed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live := atRest(3, test.change...)
			o := options(t)
			o.Room = spread(live, test.more)
			o.Room.Nodes[0].Spec.Unschedulable = test.cordoned
			o.Drain = simulate.Drain{Nodes: strings.Fields(test.drain), Budgets: []policyv1.PodDisruptionBudget{floor("3")}, Others: []string{"node-2"}}
			if test.lowest == 0 {
				o.Drain.Budgets, test.done, test.evicted, test.lowest = nil, true, 1, 2
			}
			report := play(t, live, with(live), o, test.want)
			lines := text.Join(report.Lines(text.Style{}, true))
			if got := report.Drain; got.IsDone != test.done || got.Evicted != test.evicted || report.Totals.LowestAvailable != test.lowest || len(report.Steps) > 20 {
				t.Errorf("%+v, %+v:\n%s", got, report.Totals, lines)
			}
		})
	}
}

// What could not be found out about the room for a surge pod is noted, for whatever reason.
func TestUnknownRoom(t *testing.T) {
	forbidden, noAnswer := errors.New("forbidden"), errors.New("a webhook does not answer")
	tests := map[string]struct {
		image func(string) func(*v1.PodManager)
		room  surge.Room
		want  []string
	}{
		"all is known":            {Image, surge.Room{}, nil},
		"the dry run fails":       {Image, surge.Room{RefusalError: noAnswer}, []string{"room for a surge pod is not known: a webhook does not answer"}},
		"nodes are forbidden":     {onePerNode, surge.Room{NodesError: forbidden}, []string{"nodes cannot be read"}},
		"both":                    {onePerNode, surge.Room{NodesError: forbidden, RefusalError: noAnswer}, []string{"nodes cannot be read", "a webhook does not answer"}},
		"nodes need not be known": {Image, surge.Room{NodesError: forbidden}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live, o := atRest(3, test.image("v1")), options(t)
			o.Room = test.room
			notes := strings.Join(play(t, live, with(live, test.image("v2")), o, simulate.Completed).Notes, "|")
			for _, want := range test.want {
				if !strings.Contains(notes, want) {
					t.Errorf("notes: %q, want %q", notes, want)
				}
			}
			if (notes == "") != (test.want == nil) {
				t.Errorf("notes: %q", notes)
			}
		})
	}
}
