package source

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

// nodeNamed returns a node in a zone whose condition Ready has this status since an hour ago.
func nodeNamed(name, zone string, ready corev1.ConditionStatus, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(time.Unix(0, 0))}}
	for _, c := range change {
		c(n)
	}
	return n
}

// known returns Nodes that know these nodes.
func known(nodes ...*corev1.Node) *Nodes {
	n := NewNodes(nil, clock.RealClock{})
	n.listed()
	for _, node := range nodes {
		n.set(node)
	}
	return n
}

func TestDraining(t *testing.T) {
	tests := map[string]func(*corev1.Node){
		"is cordoned":                            func(n *corev1.Node) { n.Spec.Unschedulable = true },
		"is being replaced by Karpenter":         func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted"}} },
		"is being removed by Cluster Autoscaler": func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}} },
		"has the condition DrainInProgress": func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "DrainInProgress", Status: corev1.ConditionTrue})
		},
		"has the condition MaintenancePlanned": func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "MaintenancePlanned", Status: corev1.ConditionTrue})
		},
		"": func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "DrainInProgress", Status: corev1.ConditionFalse})
		},
	}
	for want, change := range tests {
		full := nodeNamed("a", "", corev1.ConditionTrue, change)
		trimmed, _ := trimNode(full)
		if got := known(trimmed.(*corev1.Node)).Of("a").Draining; got != want {
			t.Errorf("a node is draining because it %q, want %q", got, want)
		}
	}
}

// A node counts as lost from the moment at which this process first saw that. It does not count as lost while too many nodes are not ready.
func TestLostNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost, ready := corev1.ConditionUnknown, corev1.ConditionTrue
		tests := map[string]struct {
			nodes []*corev1.Node
			want  bool
		}{
			"one of three":                 {[]*corev1.Node{nodeNamed("a", "", lost), nodeNamed("b", "", ready), nodeNamed("c", "", ready)}, true},
			"half of them":                 {[]*corev1.Node{nodeNamed("a", "", lost), nodeNamed("b", "", ready)}, true},
			"two of three":                 {[]*corev1.Node{nodeNamed("a", "", lost), nodeNamed("b", "", corev1.ConditionFalse), nodeNamed("c", "", ready)}, false},
			"the only node":                {[]*corev1.Node{nodeNamed("a", "", lost)}, false},
			"not ready, but not lost":      {[]*corev1.Node{nodeNamed("a", "", corev1.ConditionFalse), nodeNamed("b", "", ready)}, false},
			"two of three in the zone":     {[]*corev1.Node{nodeNamed("a", "x", lost), nodeNamed("b", "x", lost), nodeNamed("c", "x", ready), nodeNamed("d", "y", ready), nodeNamed("e", "y", ready)}, false},
			"all of two in the zone":       {[]*corev1.Node{nodeNamed("a", "x", lost), nodeNamed("b", "x", lost), nodeNamed("d", "y", ready), nodeNamed("e", "y", ready)}, true},
			"in a zone beside one so lost": {[]*corev1.Node{nodeNamed("a", "x", lost), nodeNamed("b", "x", ready), nodeNamed("d", "y", lost), nodeNamed("e", "y", lost), nodeNamed("f", "y", ready), nodeNamed("g", "x", ready), nodeNamed("h", "x", ready)}, true},
		}
		for name, test := range tests {
			since := known(test.nodes...).Of("a").LostSince
			if !since.IsZero() != test.want || test.want && !since.Equal(time.Now()) {
				t.Errorf("%s: lost since %v, want %v", name, since, test.want)
			}
		}
		n := known(nodeNamed("a", "", lost), nodeNamed("b", "", ready))
		first := time.Now()
		time.Sleep(time.Minute)
		n.set(nodeNamed("a", "", lost))
		if since := n.Of("a").LostSince; !since.Equal(first) {
			t.Errorf("another event has changed LostSince to %v", since)
		}
		n.set(nodeNamed("a", "", lost, func(n *corev1.Node) { n.Status.Conditions[0].LastTransitionTime = metav1.Now() }))
		if since := n.Of("a").LostSince; !since.Equal(time.Now()) {
			t.Errorf("the node was back without an event and is lost again, but LostSince is %v", since)
		}
		n.set(nodeNamed("a", "", ready))
		if !n.Of("a").LostSince.IsZero() {
			t.Error("the node is lost although it is back")
		}
	})
}

// While too many nodes of the cluster or of a zone are not ready, none counts as lost. When that is over, the nodes that are still lost count as lost
// from then on: other nodes have just returned, and these may follow.
func TestLostSinceTheTroubleIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost, ready := corev1.ConditionUnknown, corev1.ConditionTrue
		for _, zone := range []string{"", "x"} {
			n := known(nodeNamed("a", zone, lost), nodeNamed("b", zone, lost), nodeNamed("c", zone, ready), nodeNamed("d", zone, lost))
			for _, other := range []string{"e", "f", "g", "h"} {
				n.set(nodeNamed(other, "y", map[string]corev1.ConditionStatus{"": lost, "x": ready}[zone]))
			}
			time.Sleep(time.Hour)
			if since := n.Of("a").LostSince; !since.IsZero() {
				t.Errorf("zone %q: lost since %v amid the trouble", zone, since)
			}
			for _, name := range []string{"b", "f", "g", "h"} {
				n.set(nodeNamed(name, map[bool]string{true: zone, false: "y"}[name == "b"], ready))
			}
			time.Sleep(time.Minute)
			if since := n.Of("a").LostSince; !since.Equal(time.Now().Add(-time.Minute)) {
				t.Errorf("zone %q: lost since %v, want a minute ago", zone, since)
			}
		}
	})
}

// Until all nodes are known, none is lost: the first ones of the list say nothing about the others.
func TestNoneLostWhileListing(t *testing.T) {
	n := NewNodes(nil, clock.RealClock{})
	n.set(nodeNamed("a", "", corev1.ConditionUnknown))
	n.set(nodeNamed("b", "", corev1.ConditionTrue))
	if a, c := n.Of("a"), n.Of("c"); !a.LostSince.IsZero() || !a.IsUnknown || !c.IsUnknown {
		t.Errorf("while nodes are listed, a known node is %+v, and an unknown one %+v", a, c)
	}
	if n.listed(); n.Of("a").LostSince.IsZero() || n.Of("a").IsUnknown {
		t.Error("the node is not lost, although all nodes are known")
	}
}

// The state of a deleted node is unknown, so that pods which were leaving it go on leaving until they are gone. If the node registers again, the
// listeners are notified.
func TestDeletedNode(t *testing.T) {
	ready := corev1.ConditionTrue
	n := known(nodeNamed("a", "", ready, func(n *corev1.Node) { n.Spec.Unschedulable = true }), nodeNamed("b", "", ready))
	n.replace("a", nil)
	for name, want := range map[string]bool{"a": true, "b": false, "": false} {
		if is := n.Of(name); is.IsUnknown != want || is.Draining != "" || !is.LostSince.IsZero() {
			t.Errorf("node %q is %+v", name, is)
		}
	}
	var heard []string
	n.Listen(func(names []string) { heard = append(heard, names...) })
	if n.set(nodeNamed("a", "", ready)); n.Of("a").IsUnknown || !slices.Equal(heard, []string{"a"}) {
		t.Errorf("the node is back: it is %+v, and heard of %v", n.Of("a"), heard)
	}
}

// Listeners are notified of changes that matter to their pods, and of nothing else.
func TestNodesNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNodes(nil, clock.RealClock{})
		var heard []string
		stop := n.Listen(func(names []string) { slices.Sort(names); heard = append(heard, names...) })
		cordon := func(node *corev1.Node) { node.Spec.Unschedulable = true }
		expect := func(what string, want ...string) {
			t.Helper()
			if !slices.Equal(heard, want) {
				t.Errorf("%s: heard of %v, want %v", what, heard, want)
			}
			heard = nil
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			n.set(nodeNamed(name, "", corev1.ConditionTrue))
		}
		expect("nodes that are ready while they are listed")
		n.listed()
		expect("all are listed")
		n.set(nodeNamed("a", "", corev1.ConditionTrue, cordon))
		expect("a is cordoned", "a")
		n.set(nodeNamed("a", "", corev1.ConditionTrue, cordon))
		expect("nothing new")
		n.set(nodeNamed("b", "", corev1.ConditionUnknown))
		n.set(nodeNamed("c", "", corev1.ConditionUnknown))
		expect("b and c are lost", "b", "c")
		n.set(nodeNamed("d", "", corev1.ConditionFalse))
		expect("three of five are not ready", "b", "c")
		n.replace("d", nil)
		expect("two of four", "b", "c")
		stop()
		n.set(nodeNamed("a", "", corev1.ConditionTrue))
		expect("after the end")
	})
}

// Nodes are listed only when a PodManager needs them. If the API server refuses, Forbidden returns true until the right is granted.
func TestNodesOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := kubefake.NewClientset(nodeNamed("a", "", corev1.ConditionTrue, func(n *corev1.Node) { n.Spec.Unschedulable = true }))
		var refused atomic.Bool
		kube.PrependReactor("list", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) {
			if refused.Swap(true) {
				return false, nil, nil
			}
			return true, nil, apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("no role"))
		})
		n := NewNodes(kube, clock.RealClock{})
		ctx, cancel := context.WithCancel(t.Context())
		go n.Run(ctx)
		synctest.Wait()
		if len(kube.Actions()) > 0 || n.Forbidden() {
			t.Errorf("requests before a PodManager needs nodes: %v", kube.Actions())
		}
		n.Need()
		n.Need()
		synctest.Wait()
		if !n.Forbidden() {
			t.Error("Forbidden is false after a refusal")
		}
		time.Sleep(time.Minute) // until the next try
		synctest.Wait()
		if n.Forbidden() || n.Of("a").Draining == "" || n.listing {
			t.Errorf("after the next try: forbidden %v, the node is %+v, still listing %v", n.Forbidden(), n.Of("a"), n.listing)
		}
		n.setForbidden(true)
		if !n.Of("a").IsUnknown {
			t.Error("a node is known although the API server refuses to list nodes")
		}
		cancel()
		synctest.Wait()
		// The API server went back in time: the caches begin anew, and so do the nodes.
		_ = kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), nodeNamed("a", "", corev1.ConditionTrue), "")
		ctx, cancel = context.WithCancel(t.Context())
		go n.Run(ctx)
		time.Sleep(time.Second)
		synctest.Wait()
		if is := n.Of("a"); is.Draining != "" || is.IsUnknown || n.Forbidden() {
			t.Errorf("after the caches were rebuilt, the node is %+v", is)
		}
		cancel()
		synctest.Wait()
	})
}
