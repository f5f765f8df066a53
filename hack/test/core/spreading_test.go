//go:build e2e

package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// zoneOfNode returns the zones of the nodes that addNodes has added.
func (s *space) zoneOfNode() map[string]string {
	s.T.Helper()
	list, err := shared.kube.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{LabelSelector: "test.mycompany.com/" + s.Name})
	if err != nil {
		s.T.Fatal(err)
	}
	zones := map[string]string{}
	for _, node := range list.Items {
		zones[node.Name] = node.Labels[corev1.LabelTopologyZone]
	}
	return zones
}

// placed waits until this many pods of an image are on nodes, and returns the nodes of each app by the value of its label.
func (s *space) placed(image string, pods int) map[string][]string {
	s.T.Helper()
	nodes := map[string][]string{}
	s.Await("all pods to have a node", func() (any, bool) {
		clear(nodes)
		count := 0
		for _, pod := range s.Pods() {
			if pod.Spec.NodeName != "" && pod.Spec.Containers[0].Image == image {
				nodes[pod.Labels["app"]] = append(nodes[pod.Labels["app"]], pod.Spec.NodeName)
				count++
			}
		}
		return count, count == pods
	})
	return nodes
}

// average returns how many different places a workload uses on average. It counts only workloads whose names begin with prefix.
func average(nodes map[string][]string, prefix string, place func(node string) string) float64 {
	used, workloads := 0, 0
	for app, on := range nodes {
		if !strings.HasPrefix(app, prefix) {
			continue
		}
		var places []string
		for _, node := range on {
			places = append(places, place(node))
		}
		slices.Sort(places)
		used, workloads = used+len(slices.Compact(places)), workloads+1
	}
	return float64(used) / float64(workloads)
}

// On average, eight PodManagers use about as many nodes as eight Deployments beside them, and after a rollout also as many zones. Most nodes are in
// one zone, so pods that are spread over nodes alone would leave zones out.
func TestSpreadsLikeDeployments(t *testing.T) {
	const workloads, replicas = 8, 5
	for name, zones := range map[string][]string{"without zones": {"", "", "", "", ""}, "with zones": {"a", "a", "a", "a", "b", "c"}} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			podSpec := s.addNodes(zones...)
			apply := func(image string) {
				spec := podSpec + ", terminationGracePeriodSeconds: 0, containers: [{name: app, image: '" + image + "'}]"
				for i := range workloads {
					s.apply(fmt.Sprintf("pm-%d", i), fmt.Sprintf("{replicas: %d, template: {metadata: {labels: {app: pm-%d}}, spec: {%s}}}", replicas, i, spec))
					s.Apply(fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: deploy-%d, namespace: %s}, spec: {replicas: %d, "+
						"selector: {matchLabels: {app: deploy-%d}}, template: {metadata: {labels: {app: deploy-%d}}, spec: {%s}}}}", i, s.Name, replicas, i, i, spec))
				}
			}
			zoneOf := s.zoneOfNode()
			for _, image := range []string{"app:1", "app:2"} {
				apply(image)
				nodes := s.placed(image, 2*workloads*replicas)
				for what, place := range map[string]func(string) string{
					"nodes": func(node string) string { return node }, "zones": func(node string) string { return zoneOf[node] },
				} {
					ours, theirs := average(nodes, "pm-", place), average(nodes, "deploy-", place)
					t.Logf("%s: a PodManager of %d pods uses %.2f %s, a Deployment %.2f", image, replicas, ours, what, theirs)
					// The controller learns from the labels of running pods that there are zones, so it does not spread the first pods of a PodManager over them.
					if isFirst := what == "zones" && image == "app:1"; ours < theirs-0.5 && !isFirst {
						t.Errorf("%s: PodManagers use %.2f %s on average, Deployments %.2f", image, ours, what, theirs)
					}
				}
			}
		})
	}
}

// The flag -default-spreading can turn off spreading over zones, or all spreading.
func TestDefaultSpreadingFlag(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][]string{"auto": {corev1.LabelHostname, corev1.LabelTopologyZone}, "host": {corev1.LabelHostname}, "none": nil} {
		t.Run(value, func(t *testing.T) {
			s := newSpace(t)
			spec := "{replicas: %d, template: {spec: {" + s.addNodes("a", "b") + ", containers: [{name: app, image: app}]}}}"
			s.private("-default-spreading=" + value)
			s.applyPrivate("web", fmt.Sprintf(spec, 1))
			s.awaitReady("web", 1)
			if s.pod("web-0").Labels[corev1.LabelTopologyZone] == "" {
				t.Skip("before Kubernetes 1.35 pods do not have the label of their zone")
			}
			s.applyPrivate("web", fmt.Sprintf(spec, 2))
			s.awaitReady("web", 2)
			var got []string
			for _, constraint := range s.pod("web-1").Spec.TopologySpreadConstraints {
				got = append(got, constraint.TopologyKey)
			}
			if !slices.Equal(got, want) {
				t.Errorf("the second pod is spread over %v, want %v", got, want)
			}
		})
	}
}
