package leaving_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/leaving"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
)

// ruled sets spec.disruption.
func ruled(rules v1.Disruption) func(*v1.PodManager) {
	return func(m *v1.PodManager) { m.Spec.Disruption = &rules }
}

var (
	drains = ruled(v1.Disruption{OnDrain: v1.ReplaceDrain})
	losses = ruled(v1.Disruption{NodeLoss: &v1.NodeLoss{ReplaceAfterSeconds: ptr.To[int32](60)}})
	both   = ruled(v1.Disruption{OnDrain: v1.ReplaceDrain, NodeLoss: &v1.NodeLoss{ReplaceAfterSeconds: ptr.To[int32](60)}})
	forces = ruled(v1.Disruption{NodeLoss: &v1.NodeLoss{ForceDeleteAfterSeconds: ptr.To[int32](600)}})
)

// world has what is known about nodes.
type world map[string]leaving.Node

func (w world) of(name string) leaving.Node { return w[name] }

func drained(names ...string) world {
	w := world{}
	for _, name := range names {
		w[name] = leaving.Node{Draining: "is cordoned"}
	}
	return w
}

func lost(ago time.Duration, names ...string) world {
	w := world{}
	for _, name := range names {
		w[name] = leaving.Node{LostSince: Now.Add(-ago)}
	}
	return w
}

// leaves makes the status say that these pods leave.
func leaves(cause v1.LeavingCause, names ...string) func(*v1.PodManager) {
	return func(m *v1.PodManager) {
		for _, name := range names {
			m.Status.LeavingPods = append(m.Status.LeavingPods, v1.LeavingPod{Name: name, Cause: cause})
		}
	}
}

// While it is not known which nodes are drained or lost, pods that were leaving go on leaving, so that their replacements are not deleted as surplus.
// No other pods begin to leave.
func TestFindUnknown(t *testing.T) {
	unknown := leaving.Node{IsUnknown: true}
	seenNow := leaving.Node{LostSince: Now} // by a new leader
	for name, test := range map[string]struct {
		manager *v1.PodManager
		node    leaving.Node
		want    string
	}{
		"none was leaving":              {Manager(2, both), unknown, ""},
		"one was on a drained node":     {Manager(2, both, leaves(v1.LeavingForDrain, "web-0")), unknown, "web-0"},
		"one was on a lost node":        {Manager(2, both, leaves(v1.LeavingForNodeLoss, "web-1")), unknown, "web-1"},
		"one was too old":               {Manager(2, both, leaves(v1.LeavingForAge, "web-1")), unknown, ""},
		"the rules have been removed":   {Manager(2, leaves(v1.LeavingForNodeLoss, "web-1")), unknown, ""},
		"lost, and the leader is new":   {Manager(2, both, leaves(v1.LeavingForNodeLoss, "web-1")), seenNow, "web-1"},
		"lost now, and none was before": {Manager(2, both), seenNow, ""},
		"the node is back":              {Manager(2, both, leaves(v1.LeavingForNodeLoss, "web-1")), leaving.Node{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := leaving.Find(test.manager, func(string) leaving.Node { return test.node }, []*corev1.Pod{Pod(0), Pod(1), Pod(2)}, Now)
			if got := namesOf(found.Leave); got != test.want || len(found.Stay)+len(found.Leave) != 3 {
				t.Errorf("%q leave, and %d stay", got, len(found.Stay))
			}
		})
	}
}

// The status names only the first 100 leaving pods. While it is not known which nodes are drained or lost, the pods beyond that number go on leaving,
// too, if the status names another pod of their node. If it names all leaving pods, no others begin to leave.
func TestFindUnknownBeyondTheList(t *testing.T) {
	for cause, status := range map[leaving.Cause]v1.LeavingCause{leaving.Drained: v1.LeavingForDrain, leaving.Lost: v1.LeavingForNodeLoss} {
		for replicas, want := range map[int32]string{1: "web-0", 2: "web-0 web-1"} {
			m := Manager(3, both, Limits("3", "0"), leaves(status, "web-0"))
			m.Status.LeavingReplicas = replicas
			pods := append(startedOn("node-0", 0, 1), startedOn("node-1", 2, 3, 4)...)
			found := leaving.Find(m, func(string) leaving.Node { return leaving.Node{IsUnknown: true} }, pods, Now)
			if got := namesOf(found.Leave); got != want || len(found.Waiting) > 0 {
				t.Errorf("%s, %d in the status: %q leave, want %q; %q wait", cause, replicas, got, want, namesOf(found.Waiting))
			}
		}
	}
}

// startedOn returns pods that the kubelet of a node has started.
func startedOn(node string, indices ...int) (pods []*corev1.Pod) {
	for _, index := range indices {
		pods = append(pods, Pod(index, OnNode(node), func(p *corev1.Pod) { p.Status.StartTime = &p.CreationTimestamp }))
	}
	return pods
}

// namesOf returns the names of pods that leave.
func namesOf(pods []leaving.Pod) string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return strings.Join(names, " ")
}

func TestFind(t *testing.T) {
	one, two := Limits("1", "0"), Limits("2", "0")
	complete := func(m *v1.PodManager) { m.Spec.PodReplacementPolicy = v1.TerminationComplete }
	three := []string{"node-0", "node-1", "node-2"}
	tests := map[string]struct {
		manager     *v1.PodManager
		nodes       world
		pods        []*corev1.Pod
		leave, wait string
		uncovered   int
		alone       bool
		again       time.Duration
	}{
		"drained":                       {manager: Manager(3, one, drains), nodes: drained("node-1"), pods: Pods3(), leave: "web-1", uncovered: 1},
		"drained, and that is ignored":  {manager: Manager(3, one, losses), nodes: drained("node-1"), pods: Pods3()},
		"no rules":                      {manager: Manager(3, one), nodes: drained("node-1"), pods: Pods3()},
		"replaced":                      {manager: Manager(3, one, drains), nodes: drained("node-1"), pods: append(Pods3(), Pod(3)), leave: "web-1"},
		"being replaced":                {manager: Manager(3, one, drains), nodes: drained("node-1"), pods: append(Pods3(), Pod(3, NotReady)), leave: "web-1", uncovered: 1},
		"no pod wanted":                 {manager: Manager(0, one, drains), nodes: drained(three...), pods: Pods3()},
		"fewer wanted than stay":        {manager: Manager(1, one, drains), nodes: drained("node-1"), pods: Pods3(), leave: "web-1"},
		"marked for deletion":           {manager: Manager(3, one, both), nodes: drained("node-0", "node-1"), pods: []*corev1.Pod{Pod(0, Marked), Pod(1), Pod(2)}, leave: "web-1", uncovered: 1},
		"the whole pool":                {manager: Manager(3, one, drains), nodes: drained(three...), pods: Pods3(), leave: "web-0", wait: "web-1 web-2", uncovered: 1},
		"the whole pool, no room":       {manager: Manager(3, one, drains), nodes: drained(three...), pods: append(Pods3(), Pod(3, NotReady, OnNode(""))), leave: "web-0", wait: "web-1 web-2", uncovered: 1},
		"the whole pool, two at a time": {manager: Manager(3, two, drains), nodes: drained(three...), pods: append(Pods3(), Pod(3, NotReady), Pod(4)), leave: "web-0 web-1 web-2", uncovered: 2},
		"no surge: one at a time":       {manager: Manager(3, Limits("0", "1"), drains), nodes: drained(three...), pods: Pods3(), leave: "web-0", wait: "web-1 web-2", uncovered: 1},
		"beside one that crashes":       {manager: Manager(3, one, drains), nodes: drained("node-1"), pods: []*corev1.Pod{Pod(0, Crashing, NotReady), Pod(1), Pod(2)}, leave: "web-1", uncovered: 1},
		"two beside one that starts":    {manager: Manager(3, one, drains), nodes: drained("node-0", "node-1"), pods: append(Pods3(), Pod(3, NotReady)), leave: "web-0", wait: "web-1", uncovered: 1},
		"not scheduled yet":             {manager: Manager(1, one, drains), nodes: drained("node-1"), pods: []*corev1.Pod{Pod(0, OnNode(""), NotReady)}},
		"Recreate":                      {manager: Manager(3, Strategy(v1.RecreateStrategy), drains), nodes: drained("node-1"), pods: Pods3(), alone: true},
		"TerminationComplete":           {manager: Manager(3, one, complete, losses), nodes: lost(time.Hour, "node-1"), pods: Pods3(), alone: true},
		"TerminationComplete, not yet":  {manager: Manager(3, one, complete, losses), nodes: lost(20*time.Second, "node-1"), pods: Pods3(), again: 40 * time.Second},
		"lost":                          {manager: Manager(3, one, losses), nodes: lost(time.Minute, three...), pods: Pods3(), leave: "web-0 web-1 web-2", uncovered: 3},
		"two nodes lost, one by one": {manager: Manager(2, one, losses), nodes: lost(time.Hour, "node-0", "node-1"), pods: append(startedOn("node-0", 0, 1), startedOn("node-1", 2, 3)...),
			leave: "web-0 web-1 web-2 web-3", uncovered: 2},
		"lost again before it started":    {manager: Manager(1, one, losses), nodes: lost(time.Hour, "node-0"), pods: append(startedOn("node-0", 0), Pod(1, OnNode("node-0"), NotReady)), leave: "web-0", wait: "web-1", uncovered: 1},
		"scaled down while it is drained": {manager: Manager(1, one, drains), nodes: drained(three...), pods: append(Pods3(), Pod(3), Pod(4), Pod(5)), leave: "web-0", wait: "web-1 web-2"},
		"one of three already leaves":     {manager: Manager(3, one, drains, leaves(v1.LeavingForDrain, "web-2")), nodes: drained(three...), pods: append(Pods3(), Pod(3, NotReady)), leave: "web-2", wait: "web-0 web-1", uncovered: 1},
		"the next one of three":           {manager: Manager(3, one, drains, leaves(v1.LeavingForDrain, "web-2")), nodes: drained(three...), pods: append(Pods3(), Pod(3)), leave: "web-2 web-0", wait: "web-1", uncovered: 1},
		"lost one after the other":        {manager: Manager(3, one, losses, leaves(v1.LeavingForNodeLoss, "web-1")), nodes: lost(time.Hour, "node-0", "node-1"), pods: append(Pods3(), Pod(3)), leave: "web-1 web-0", uncovered: 1},
		"lost for less":                   {manager: Manager(3, one, losses), nodes: lost(20*time.Second, three...), pods: Pods3(), again: 40 * time.Second},
		"lost, and that is ignored":       {manager: Manager(3, one, drains), nodes: lost(time.Hour, three...), pods: Pods3()},
		"lost for less, and drained": {manager: Manager(3, one, both), nodes: world{"node-1": {Draining: "is cordoned", LostSince: Now.Add(-20 * time.Second)}}, pods: Pods3(), leave: "web-1",
			uncovered: 1, again: 40 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found := leaving.Find(test.manager, test.nodes.of, test.pods, Now)
			if namesOf(found.Leave) != test.leave || namesOf(found.Waiting) != test.wait || found.Alone != test.alone || found.Again != test.again {
				t.Errorf("%q leave, %q wait, alone %v, again after %v", namesOf(found.Leave), namesOf(found.Waiting), found.Alone, found.Again)
			}
			for _, pod := range test.pods {
				leaves := slices.ContainsFunc(found.Leave, func(l leaving.Pod) bool { return l.Pod == pod })
				if slices.Contains(found.Stay, pod) == leaves {
					t.Errorf("%s leaves: %v, and stays: %v", pod.Name, leaves, !leaves)
				}
			}
			if got := found.Uncovered(test.manager, Now); got != test.uncovered {
				t.Errorf("%d have no replacement that is available, want %d", got, test.uncovered)
			}
		})
	}
}

// Without a watch on nodes, no pod leaves.
func TestFindWithoutNodes(t *testing.T) {
	if found := leaving.Find(Manager(3, both), nil, Pods3(), Now); len(found.Stay) != 3 {
		t.Errorf("%d stay", len(found.Stay))
	}
}
