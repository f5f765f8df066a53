//go:build e2e

package core

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// addNodes adds simulated nodes that only pods of this test run on, one for each zone in the list. For an empty string, the node has no zone. It
// returns what a pod needs in its spec to run there.
func (s *space) addNodes(zones ...string) (podSpec string) {
	s.T.Helper()
	nodes, key := shared.kube.CoreV1().Nodes(), "test.mycompany.com/"+s.Name
	for i, zone := range zones {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name:        fmt.Sprintf("%s-%d", s.Name, i),
				Labels:      map[string]string{key: "", corev1.LabelHostname: fmt.Sprintf("%s-%d", s.Name, i)},
				Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}},
		}
		if zone != "" {
			node.Labels[corev1.LabelTopologyZone] = zone
		}
		if _, err := nodes.Create(s.Ctx, node, metav1.CreateOptions{}); err != nil {
			s.T.Fatal(err)
		}
		s.T.Cleanup(func() { _ = nodes.Delete(context.Background(), node.Name, metav1.DeleteOptions{}) })
	}
	s.Await("the nodes to be ready", func() (any, bool) {
		list, err := nodes.List(s.Ctx, metav1.ListOptions{LabelSelector: key})
		if err != nil {
			s.T.Fatal(err)
		}
		ready := 0
		for _, node := range list.Items {
			if slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}) {
				ready++
			}
		}
		return ready, ready == len(zones)
	})
	return fmt.Sprintf("nodeSelector: {%s: ''}, tolerations: [{key: %s, operator: Exists}]", key, key)
}

// zonesOf counts the pods in each zone.
func zonesOf(pods []corev1.Pod) map[string]int {
	zones := map[string]int{}
	for _, pod := range pods {
		zones[pod.Labels[corev1.LabelTopologyZone]]++
	}
	return zones
}

// New pods are spread over zones once a pod of the PodManager has the label of a zone. A scale-down leaves the same number of pods in each zone.
func TestZones(t *testing.T) {
	s := newSpace(t)
	podSpec := s.addNodes("a", "a", "b", "b", "c", "c")
	spec := "{replicas: %d, template: {spec: {" + podSpec + ", containers: [{name: app, image: app}]}}}"
	s.apply("web", fmt.Sprintf(spec, 9))
	s.awaitReady("web", 9)
	if zones := zonesOf(s.Pods()); zones[""] > 0 {
		t.Skipf("before Kubernetes 1.35 pods do not have the label of their zone: %v", zones)
	}
	keys := func(pod *corev1.Pod) (keys []string) {
		for _, c := range pod.Spec.TopologySpreadConstraints {
			keys = append(keys, fmt.Sprintf("%s %d %s %v", c.TopologyKey, c.MaxSkew, c.WhenUnsatisfiable, c.LabelSelector.MatchLabels))
		}
		return keys
	}
	selects := " ScheduleAnyway map[apps.mycompany.com/revision:" + s.pod("web-0").Labels[v1.LabelRevision] + " podmanager:web]"
	host, zone := "kubernetes.io/hostname 3"+selects, "topology.kubernetes.io/zone 5"+selects
	if got := keys(s.pod("web-0")); !slices.Equal(got, []string{host}) {
		t.Errorf("the first pod has the constraints %v", got)
	}
	s.apply("web", fmt.Sprintf(spec, 10))
	s.awaitReady("web", 10)
	if got := keys(s.pod("web-9")); !slices.Equal(got, []string{host, zone}) {
		t.Errorf("the last pod has the constraints %v", got)
	}
	before := zonesOf(s.Pods())
	for _, replicas := range []int{6, 3} {
		s.apply("web", fmt.Sprintf(spec, replicas))
		s.awaitReady("web", replicas)
		zones := zonesOf(s.Pods())
		if want := replicas / 3; len(before) == 3 && !maps.Equal(zones, map[string]int{"a": want, "b": want, "c": want}) {
			t.Errorf("of %v pods in the zones %v are left, want %d in each", before, zones, want)
		}
	}
}

// Pods let Cluster Autoscaler remove their node, unless they have data there or the template says otherwise. Pods that lack the annotation get it
// without being restarted.
func TestSafeToEvict(t *testing.T) {
	s := newSpace(t)
	const one = "{replicas: 2, template: {metadata: {annotations: {%s}}, spec: {containers: [{name: app, image: app}], volumes: [%s]}}}"
	tests := map[string]struct{ annotations, volumes, want string }{
		"stateless": {want: "true"},
		"memory":    {volumes: "{name: v, emptyDir: {medium: Memory}}", want: "true"},
		"disk":      {volumes: "{name: v, emptyDir: {}}"},
		"own":       {annotations: podstate.AnnotationSafeToEvict + ": 'false'", want: "false"},
	}
	for name, test := range tests {
		s.apply(name, fmt.Sprintf(one, test.annotations, test.volumes))
	}
	for name := range tests {
		s.awaitReady(name, 2)
	}
	for _, pod := range s.AllPods() {
		if got, want := pod.Annotations[podstate.AnnotationSafeToEvict], tests[pod.Labels[v1.LabelManager]].want; got != want {
			t.Errorf("%s has %q, want %q", pod.Name, got, want)
		}
	}
	before := uids(s.AllPods())
	for _, name := range []string{"stateless-0", "stateless-1", "disk-0"} {
		s.patchPod(name, fmt.Sprintf(`{"annotations":{%q:null}}`, podstate.AnnotationSafeToEvict))
	}
	s.Await("the annotation to be back", func() (any, bool) {
		first, second := s.pod("stateless-0").Annotations, s.pod("stateless-1").Annotations
		return []any{first, second}, first[podstate.AnnotationSafeToEvict] == "true" && second[podstate.AnnotationSafeToEvict] == "true"
	})
	if after := uids(s.AllPods()); !maps.Equal(after, before) {
		t.Errorf("pods were replaced: %v before, %v now", before, after)
	}
	if revisions := s.revisions("stateless"); len(revisions) != 1 {
		t.Errorf("%d revisions, want 1, because the annotation is not part of the template", len(revisions))
	}
}

// A rollout waits for a surge pod that fits on no node. The status says so and recommends a change of the spec. With that change the rollout
// continues.
func TestSurgeBlocked(t *testing.T) {
	s := newSpace(t)
	podSpec := s.addNodes("", "", "")
	apart := "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {podmanager: web}}}]}}"
	spec := "{replicas: 3, template: {spec: {" + podSpec + ", " + apart + ", containers: [{name: app, image: 'app:%d'}]}}}"
	s.apply("web", fmt.Sprintf(spec, 1))
	s.awaitReady("web", 3)
	before := uids(s.Pods())
	s.apply("web", fmt.Sprintf(spec, 2))
	s.Await("the surge pod to find no node", func() (any, bool) {
		pods := s.Pods()
		for i := range pods {
			if c := podstate.Condition(&pods[i], corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
				return pods[i].Status, true
			}
		}
		return podNames(pods), false
	})
	// The status reports a blocked surge only after two minutes. The test sets the time of the condition back instead of waiting.
	s.setPodStatus("web-3", fmt.Sprintf(`{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",`+
		`"message":"0/8 nodes are available: 3 node(s) didn't match pod anti-affinity rules.","lastTransitionTime":%q}]}`,
		time.Now().Add(-3*time.Minute).UTC().Format(time.RFC3339)))
	ready := s.awaitCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSurgeBlocked, "anti-affinity")
	if !strings.Contains(ready.Message, "set maxUnavailable: 1 and maxSurge: 0") {
		t.Errorf("%q does not say what to do", ready.Message)
	}
	s.awaitEvents("web", v1.EventSurgeBlocked)
	for name, uid := range uids(s.Pods()) {
		if name != "web-3" && before[name] != uid {
			t.Errorf("%s was replaced", name)
		}
	}
	s.patchManager("web", `{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":1,"maxSurge":0}}}}`)
	s.awaitReady("web", 3)
}
