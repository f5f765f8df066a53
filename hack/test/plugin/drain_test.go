//go:build e2e

package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

const (
	ownNode     = "{apiVersion: v1, kind: Node, metadata: {name: %[1]s-%[2]d, labels: {test.mycompany.com/%[1]s: ''}, annotations: {kwok.x-k8s.io/node: fake}}, spec: {taints: [{key: test.mycompany.com/%[1]s, effect: NoSchedule}]}}"
	ownTemplate = "template: {metadata: {labels: {app: %[2]s}}, spec: {nodeSelector: {test.mycompany.com/%[1]s: ''}, tolerations: [{key: test.mycompany.com/%[1]s, operator: Exists}], " +
		"terminationGracePeriodSeconds: 1, containers: [{name: app, image: app}]}}"
	budgetOf = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %[1]s, namespace: %[2]s}, spec: {minAvailable: 1, selector: {matchLabels: {app: %[1]s}}}}"
)

// addNodes adds two simulated nodes that only take pods of ownTemplate.
func (s *space) addNodes() {
	s.T.Helper()
	for i := range 2 {
		s.Apply(fmt.Sprintf(ownNode, s.Name, i))
	}
	s.T.Cleanup(func() {
		_, _ = shared.cluster.Kubectl(context.Background(), "delete", "nodes", "--selector", "test.mycompany.com/"+s.Name)
	})
}

// applyAlone applies a PodManager with one pod, and a PodDisruptionBudget that needs one available pod. It returns the pod's node.
func (s *space) applyAlone(name, disruption string) (node string) {
	s.T.Helper()
	s.apply(name, fmt.Sprintf("{replicas: 1, %s%s, %s}", disruption, fmt.Sprintf(ownTemplate, s.Name, name), hasty))
	s.Apply(fmt.Sprintf(budgetOf, name, s.Name))
	s.rest(name, v1.ReasonAllAvailable)
	return s.podsOf(name)[0].Spec.NodeName
}

func (s *space) podsOf(name string) []corev1.Pod {
	return slices.DeleteFunc(s.Pods(), func(pod corev1.Pod) bool { return pod.Labels[v1.LabelManager] != name })
}

// A simulated drain agrees with kubectl drain: the replacement comes first, and the drain ends. The verbs get and why show the reason why a pod is
// leaving.
func TestDrain(t *testing.T) {
	s := newSpace(t)
	s.addNodes()
	node := s.applyAlone("web", "disruption: {onDrain: Replace}, ")
	report := s.simulated("", "web", "--drain", node, "--pods-ready-after", "2s")
	if report.Drain == nil || !report.Drain.IsDone || report.Drain.Evicted != 1 {
		t.Errorf("the simulated drain: %+v", report.Drain)
	}
	want := []string{"Created web-1"}
	if got := actionsOf(report); !slices.Equal(got, want) {
		t.Errorf("simulated %v, want %v", got, want)
	}
	watch := s.WatchPods()
	s.Kubectl("cordon", node)
	s.Await("a replacement beside the pod that leaves", func() (any, bool) {
		manager := s.Manager("web")
		return harness.Brief(manager), manager.Status.LeavingReplicas == 1 && manager.Status.AvailableReplicas == 1
	})
	s.wants("get", s.pm("get", "web"), "Leaving")
	s.wants("get", s.pm("get", "web"), "node "+node+" is cordoned")
	s.wants("get without names", s.pm("get"), "web-0 is leaving: node "+node+" is cordoned")
	var object v1.PodManager
	if err := json.Unmarshal([]byte(s.pm("get", "web", "-o", "json")), &object); err != nil || !slices.Equal(object.Status.LeavingPods,
		[]v1.LeavingPod{{Name: "web-0", Cause: v1.LeavingForDrain, Message: "node " + node + " is cordoned"}}) {
		t.Errorf("get -o json: %v, %v", object.Status.LeavingPods, err)
	}
	s.wants("why", s.pm("why", "web"), "pod web-0 is leaving: node "+node+" is cordoned")
	s.Kubectl("drain", node, "--timeout="+(2*harness.Patience).String())
	s.rest("web", v1.ReasonAllAvailable)
	seen := witness(watch)
	if !slices.Equal(seen.actions, append(want, "Deleted web-0")) || seen.lowest != report.Totals.LowestAvailable || seen.most != report.Totals.MostPods {
		t.Errorf("seen %+v, simulated at least %d available and at most %d pods", seen, report.Totals.LowestAvailable, report.Totals.MostPods)
	}
}

// The verb simulate shows that a drain cannot end. The verb check warns of that before the drain, and the verb why explains it during the drain.
func TestBlockedDrain(t *testing.T) {
	s := newSpace(t)
	s.addNodes()
	node := s.applyAlone("web", "")
	s.wants("check", s.finding("Budget", "web"), "Budget warning PodDisruptionBudget web never lets a pod be evicted")
	s.wants("simulate", s.pm("simulate", "web", "--drain", node), "of "+node+": does not end; web-0: PodDisruptionBudget web needs 1 healthy pod and has 1")
	s.refused(1, "there is no node nope", "simulate", "web", "--drain", "nope")
	s.Kubectl("cordon", node)
	if out, err := s.TryKubectl("", "drain", node, "--timeout=2s"); err == nil {
		t.Errorf("the drain has ended:\n%s", out)
	}
	got := s.pm("why", "web")
	s.wants("why", got, "node "+node+" is cordoned, and a drain waits: PodDisruptionBudget web needs 1 healthy pod and has 1")
	s.wants("why", got, `kubectl patch pm web --type merge -p '{"spec":{"disruption":{"onDrain":"Replace"}}}'`)
	viewer := s.user("viewer", "view")
	s.wants("simulate for who may not read nodes", viewer.pm("simulate", "web", "--drain", node), "you may not read nodes")
	completion := s.command()
	completion.Args = []string{"kubectl", "__complete", "pm", "--namespace", s.Name, "--kubeconfig", s.kubeconfig, "simulate", "web", "--drain", ""}
	if out, err := output(completion); err != nil || !strings.HasPrefix(out, node+"\n") {
		t.Errorf("completed: %q, %v", out, err)
	}
}
