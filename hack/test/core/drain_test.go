//go:build e2e

package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/lab"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	replacesDrained = "disruption: {onDrain: Replace}"
	budgetOf        = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %[1]s, namespace: %[2]s}, spec: {minAvailable: %[3]d, selector: {matchLabels: {app: %[1]s}}}}"
)

// nodesOf returns the nodes that run active pods with this label app.
func (s *space) nodesOf(app string) map[string]int {
	nodes := map[string]int{}
	for _, pod := range s.Pods() {
		if pod.Labels["app"] == app {
			nodes[pod.Spec.NodeName]++
		}
	}
	return nodes
}

// kubectl drain ends by itself, although a PodDisruptionBudget requires all pods to be available, and they are available at all times. The drain of
// a Deployment's pod never ends.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 10} {
		t.Run(fmt.Sprintf("%d replicas", replicas), func(t *testing.T) {
			s := newSpace(t)
			podSpec := s.addNodes("", "", "", "") + ", terminationGracePeriodSeconds: 1, containers: [{name: app, image: app}]"
			s.apply("web", fmt.Sprintf("{replicas: %d, %s, template: {metadata: {labels: {app: web}}, spec: {%s}}}", replicas, replacesDrained, podSpec))
			s.awaitReady("web", replicas)
			s.Apply(fmt.Sprintf(budgetOf, "web", s.Name, replicas))
			w := s.WatchPods()
			var node string
			for name := range s.nodesOf("web") {
				node = name
			}
			s.Kubectl("drain", node, "--timeout="+(2*harness.Patience).String())
			s.awaitReady("web", replicas)
			if on := s.nodesOf("web")[node]; on > 0 {
				t.Errorf("%d pods are still on %s", on, node)
			}
			w.Always(func(pods []*corev1.Pod, _ time.Time) string {
				if good := serving(pods); good < replicas {
					return fmt.Sprintf("%d pods serve, want %d", good, replicas)
				}
				return ""
			})
			if replicas > 1 {
				return
			}
			notes := s.awaitEvents("web", v1.EventLeaving)
			if !strings.Contains(notes, "before pod web-0 leaves: node "+node+" is cordoned") {
				t.Errorf("events:\n%s", notes)
			}
			s.Apply(fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: control, namespace: %s}, spec: {replicas: 1, "+
				"selector: {matchLabels: {app: control}}, template: {metadata: {labels: {app: control}}, spec: {%s}}}}", s.Name, podSpec))
			s.Apply(fmt.Sprintf(budgetOf, "control", s.Name, 1))
			s.Kubectl("rollout", "status", "deployment/control", "--timeout=1m")
			for name := range s.nodesOf("control") {
				node = name
			}
			if out, err := s.TryKubectl("", "drain", node, "--timeout=5s", "--pod-selector=app=control"); err == nil {
				t.Errorf("the drain of a Deployment's pod has ended, too:\n%s", out)
			}
		})
	}
}

// While a node is cordoned, its pod has a replacement. When the node is uncordoned, the controller deletes the replacement and keeps the older pod.
func TestUncordon(t *testing.T) {
	s := newSpace(t)
	podSpec := s.addNodes("", "")
	s.apply("web", fmt.Sprintf("{replicas: 1, %s, template: {spec: {%s, containers: [{name: app, image: app}]}}}", replacesDrained, podSpec))
	s.awaitReady("web", 1)
	first := s.Pods()[0]
	s.Kubectl("cordon", first.Spec.NodeName)
	s.Await("a replacement beside the pod that leaves", func() (any, bool) {
		manager := s.Manager("web")
		return harness.Brief(manager), manager.Status.LeavingReplicas == 1 && manager.Status.AvailableReplicas == 1 && harness.IsReady(manager) &&
			strings.Contains(s.Condition("web", v1.ConditionReady).Message, "web-0 is leaving")
	})
	s.Kubectl("uncordon", first.Spec.NodeName)
	s.awaitReady("web", 1)
	if left := s.Pods(); left[0].UID != first.UID {
		t.Errorf("%s is left, want %s, which is older", left[0].Name, first.Name)
	}
}

// A pod on a lost node is replaced after replaceAfterSeconds. If the pod is terminating, the controller deletes it after forceDeleteAfterSeconds,
// without waiting for the kubelet.
func TestNodeLoss(t *testing.T) {
	s := newSpace(t)
	podSpec := s.addNodes("", "")
	s.apply("web", fmt.Sprintf("{replicas: 1, disruption: {nodeLoss: {replaceAfterSeconds: 1, forceDeleteAfterSeconds: 2}}, "+
		"template: {metadata: {annotations: {simulate.podmanager/lost: ''}}, spec: {%s, containers: [{name: app, image: app}]}}}", podSpec))
	s.awaitReady("web", 1)
	node := s.Pods()[0].Spec.NodeName
	s.Kubectl("annotate", "node", node, "simulate.podmanager/lost=")
	s.setReady(node, corev1.ConditionUnknown)
	s.Await("another pod to serve in its place", func() (any, bool) {
		manager := s.Manager("web")
		return harness.Brief(manager), len(s.Pods()) == 2 && manager.Status.LeavingReplicas == 1 && manager.Status.AvailableReplicas == 1 &&
			strings.Contains(s.Condition("web", v1.ConditionReady).Message, "web-0 is leaving: node "+node+" has been lost since")
	})
	s.Kubectl("delete", "pod", "web-0", "--wait=false")
	s.Await("web-0 to be gone", func() (any, bool) {
		all := s.AllPods()
		return podNames(all), len(all) == 1 && all[0].Name == "web-1"
	})
}

// setReady sets the condition Ready of a node.
func (s *space) setReady(node string, ready corev1.ConditionStatus) {
	s.T.Helper()
	status := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Test","lastHeartbeatTime":%[2]q,"lastTransitionTime":%[2]q}]}}`,
		ready, time.Now().UTC().Format(time.RFC3339))
	_, err := shared.kube.CoreV1().Nodes().Patch(s.Ctx, node, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	if err != nil {
		s.T.Fatal(err)
	}
}

// maxAge is the shortest maximum age that the API server accepts. The test sets the API server's clock ahead by ahead, so that all pods are older
// than that.
const maxAge, ahead = 600, 700 * time.Second

// Pods that are too old are replaced, the oldest first and one at a time. Each is deleted only when its replacement is available. The API server
// refuses a shorter maximum age. A controller reads the API server's clock when it starts, so the test sets that clock ahead, and restarts the
// controller. Other tests need a correct clock, so this one has a separate cluster.
func TestSeparateMaxPodAge(t *testing.T) {
	t.Parallel()
	s := newClusterSpace(t, "age")
	p, err := startController("age", "-kubeconfig", s.Cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	// KWOK would delete a terminating pod only when its own clock, which is not set ahead, reaches the deletionTimestamp. Without a grace period the
	// API server deletes the pod at once.
	s.apply("web", fmt.Sprintf("{replicas: 1, disruption: {maxPodAgeSeconds: %d}, failurePolicy: {bakeSeconds: 0}, "+
		"updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}, "+
		"template: {spec: {terminationGracePeriodSeconds: 0, containers: [{name: app, image: app}]}}}", maxAge))
	s.awaitReady("web", 1)
	s.Kubectl("scale", "pm", "web", "--replicas=3")
	s.awaitReady("web", 3)
	var first []types.UID // in the order of their age
	pods := s.Pods()
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range pods {
		first = append(first, pod.UID)
	}
	if out, err := s.TryKubectl("", "patch", "pm", "web", "--type=merge", "-p", `{"spec":{"disruption":{"maxPodAgeSeconds":599}}}`); err == nil || !strings.Contains(out+err.Error(), "600") {
		t.Errorf("599 s are not refused: %s %v", out, err)
	}
	w := s.WatchPods()
	if err := s.Cluster.SetClock(lab.APIServer, ahead); err != nil {
		t.Skip(err)
	}
	isFirst := func(pod corev1.Pod) bool { return slices.Contains(first, pod.UID) }
	kill(t, p)
	if p, err = startController("age", "-kubeconfig", s.Cluster.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	s.Await("the first pods to be replaced", func() (any, bool) {
		all := s.AllPods()
		return podNames(all), !slices.ContainsFunc(all, isFirst)
	})
	s.awaitReady("web", 3)
	var gone []types.UID
	w.Always(func(pods []*corev1.Pod, _ time.Time) string {
		for _, uid := range first {
			isGoing := func(pod *corev1.Pod) bool { return pod.UID == uid && pod.DeletionTimestamp == nil }
			if !slices.ContainsFunc(pods, isGoing) && !slices.Contains(gone, uid) {
				gone = append(gone, uid)
			}
		}
		active := count(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil })
		if serve := serving(pods); serve < 3 || active > 4 {
			return fmt.Sprintf("%d pods serve, want 3; %d are active, want 4 at the most", serve, active)
		}
		return ""
	})
	if !slices.Equal(gone, first) {
		t.Errorf("replaced in the order %v, want %v", gone, first)
	}
	if notes := s.awaitEvents("web", v1.EventLeaving, v1.EventLeaving, v1.EventLeaving); !strings.Contains(notes, "due for replacement by maxPodAgeSeconds of 10m0s") {
		t.Errorf("events:\n%s", notes)
	}
}
