package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/status"
)

// The status names the pods that leave, in the order of their indices, with the cause of each.
func TestLeavingPodsInStatus(t *testing.T) {
	everything := disrupted(v1.Disruption{OnDrain: v1.ReplaceDrain, NodeLoss: &v1.NodeLoss{ReplaceAfterSeconds: ptr.To[int32](60)}, MaxPodAgeSeconds: ptr.To[int32](3600)})
	nodes := onNodes(map[string]leaving.Node{"node-10": {Draining: "is cordoned"}, "node-2": {LostSince: Now.Add(-time.Hour)}})
	young := aged(time.Minute)
	o := With(Observe(Manager(3, Limits("1", "0"), everything), Pod(10, young), Pod(2, young), Pod(3), Pod(4, young), Pod(5, young)), nodes)
	told, _ := status.Compute(Planned(o))
	want := []v1.LeavingPod{
		{Name: "web-2", Cause: v1.LeavingForNodeLoss, Message: "node node-2 has been lost since 2026-01-02T02:04:05Z"},
		{Name: "web-3", Cause: v1.LeavingForAge, Message: "due for replacement by maxPodAgeSeconds of 1h0m0s"},
		{Name: "web-10", Cause: v1.LeavingForDrain, Message: "node node-10 is cordoned"},
	}
	if !slices.Equal(told.LeavingPods, want) || told.LeavingReplicas != 3 {
		t.Errorf("%d leave: %v", told.LeavingReplicas, told.LeavingPods)
	}
}

// If there is no room for a replacement, Ready names the leaving pod that it replaces or, if the pod without a node was created for another reason, a
// leaving pod that has no replacement, not one whose replacement is available.
func TestReplacementBlockedNamesTheUncovered(t *testing.T) {
	noRoom := func(p *corev1.Pod) {
		OnNode("")(p)
		since := metav1.NewTime(Now.Add(-2 * time.Minute))
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: since}}
	}
	m := Manager(3, Limits("1", "0"), replaceDrained)
	m.Status.LeavingPods = []v1.LeavingPod{{Name: "web-0", Cause: v1.LeavingForDrain}}
	for name, test := range map[string]struct {
		made func(*corev1.Pod)
		want string
	}{
		"a replacement":     {Replacing("web-0"), "web-0"},
		"another new pod":   {Replacing("web-9"), "web-1"},
		"of an old release": {func(*corev1.Pod) {}, "web-1"},
	} {
		t.Run(name, func(t *testing.T) {
			told, _ := status.Compute(Planned(With(Observe(m, Pod(0), Pod(1), Pod(2), Pod(3), Pod(4, noRoom, test.made)), cordoned("node-0", "node-1"))))
			want := strings.ReplaceAll("no node has room for the replacement of POD: make room on another node, or bring the node of POD back into service", "POD", test.want)
			if message := MessageIn(&told, v1.ConditionReady); !strings.Contains(message, want) {
				t.Error(message)
			}
		})
	}
}

// Pods that leave serve until they are gone: while their replacements start, as many pods are available as before.
func TestAvailableWhileLeaving(t *testing.T) {
	nodes := onNodes(map[string]leaving.Node{"node-0": {Draining: "is cordoned"}})
	o := With(Observe(Manager(3, Limits("1", "0"), disrupted(v1.Disruption{OnDrain: v1.ReplaceDrain})), Pod(0), Pod(1), Pod(2)), nodes)
	told, _ := status.Compute(Planned(o))
	available := meta.FindStatusCondition(told.Conditions, v1.ConditionAvailable)
	if told.LeavingReplicas != 1 || available.Status != "True" || available.Message != "2 of 3 pods available, plus 1 leaving" {
		t.Errorf("%d leave, %+v", told.LeavingReplicas, available)
	}
}

// Only the replacement of a pod that is too old can be late. Another pod that is not ready for a moment, however old, is not.
func TestLateReplacement(t *testing.T) {
	m := Manager(2, Limits("1", "0"), disrupted(v1.Disruption{MaxPodAgeSeconds: ptr.To[int32](3600)}), leavesForAge("web-0"))
	ready := func(p *corev1.Pod) {
		aged(20 * time.Minute)(p)
		ReadyFor(19 * time.Minute)(p)
	}
	for name, test := range map[string]struct {
		replacement, other func(*corev1.Pod)
		want               bool
	}{
		"late":                     {aged(700 * time.Second), aged(50 * time.Minute), true},
		"starting":                 {aged(time.Minute), aged(50 * time.Minute), false},
		"starting, another is old": {aged(time.Minute), func(p *corev1.Pod) { aged(50 * time.Minute)(p); NotReady(p) }, false},
		"available, and a pod that was created later is not ready": {ready, func(p *corev1.Pod) { aged(700 * time.Second)(p); NotReady(p) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observe(m, Pod(0, aged(2*time.Hour)), Pod(1, test.other), Pod(2, Replacing("web-0"), NotReady, test.replacement))
			told, _ := status.Compute(Planned(o))
			ready := meta.FindStatusCondition(told.Conditions, v1.ConditionReady)
			isNamed := strings.Contains(ready.Message, "until the replacement web-2 is available")
			if got := ready.Reason == v1.ReasonReplacementLate; got != test.want || isNamed != test.want {
				t.Errorf("%+v", ready)
			}
		})
	}
	m.Spec.UpdateStrategy = Manager(0, Limits("0", "1")).Spec.UpdateStrategy
	told, _ := status.Compute(Planned(Observe(m, Pod(0, aged(2*time.Hour)), Pod(1, aged(700*time.Second), NotReady))))
	if reason := ReasonIn(&told, v1.ConditionReady); reason != v1.ReasonPodsNotReady {
		t.Errorf("without a surge: %s", reason)
	}
}
