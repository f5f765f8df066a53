//go:build e2e

package node

import (
	"bytes"
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// output is the output so far of a command that is still running.
type output struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.text.Write(data)
}

func (o *output) String() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.text.String()
}

// drain starts to drain the real node of the test's pods. After the test the node accepts pods again. The node is cordoned first, and drained once
// the taint is visible: a drain does not look again for pods that the scheduler has put on the node in the meantime.
func (s *space) drain() (*exec.Cmd, *output) {
	s.T.Helper()
	s.T.Cleanup(s.uncordon)
	if out, err := exec.CommandContext(s.T.Context(), "kubectl", "cordon", realNode).CombinedOutput(); err != nil {
		s.T.Fatalf("kubectl cordon: %v\n%s", err, out)
	}
	s.awaitNode("the taint of a cordoned node", func(node *corev1.Node) bool {
		return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeUnschedulable })
	})
	command := exec.CommandContext(s.T.Context(), "kubectl", "drain", realNode, "--ignore-daemonsets", "--delete-emptydir-data",
		"--pod-selector", v1.LabelManagerUID+"="+string(s.manager().UID), "--timeout", harness.Patience.String())
	said := &output{}
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		s.T.Fatal(err)
	}
	return command, said
}

func (s *space) uncordon() {
	s.T.Helper()
	if out, err := exec.CommandContext(context.Background(), "kubectl", "uncordon", realNode).CombinedOutput(); err != nil {
		s.T.Errorf("kubectl uncordon: %v\n%s", err, out)
	}
}

// awaitBudget waits until the status of the PodDisruptionBudget has these counts.
func (s *space) awaitBudget(expected, healthy, allowed int32) {
	s.T.Helper()
	s.Await("the status of the budget", func() (any, bool) {
		budget, err := shared.kube.PolicyV1().PodDisruptionBudgets(s.Name).Get(s.T.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err, false
		}
		status := budget.Status
		return status, status.ObservedGeneration == budget.Generation && status.ExpectedPods == expected && status.CurrentHealthy == healthy &&
			status.DesiredHealthy == 2 && status.DisruptionsAllowed == allowed
	})
}

var refusal = regexp.MustCompile(`error when evicting pods/"(.+?)".*violate the pod's disruption budget`)

// refused returns the pods whose eviction was refused at least once.
func refused(said string) map[string]bool {
	pods := map[string]bool{}
	for _, match := range refusal.FindAllStringSubmatch(said, -1) {
		pods[match[1]] = true
	}
	return pods
}

// isDrained checks that a drain evicts one pod at a time if a PodDisruptionBudget requires it, and all of them otherwise. Their replacements wait
// for a node, which the status reports, and run once there is one.
func (s *space) isDrained() {
	s.T.Helper()
	before := s.active()
	// The budget's controller takes the expected number of pods from the PodManager's scale subresource.
	s.Apply("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}}")
	s.awaitBudget(3, 3, 1)
	drain, said := s.drain()
	// Both evictions have to be refused before the budget is deleted: kubectl mistakes "not found" about a budget for "not found" about the pod,
	// and skips the pod.
	s.Await("the drain of two pods to be refused", func() (any, bool) {
		return said.String(), len(refused(said.String())) == 2
	})
	s.awaitBudget(3, 2, 0)
	serving := s.left(before)
	if len(serving) != 2 {
		s.T.Errorf("%d pods are left, want 2: %s", len(serving), said)
	}
	for _, pod := range serving {
		s.ask(&pod, 8080)
	}
	if err := shared.kube.PolicyV1().PodDisruptionBudgets(s.Name).Delete(s.T.Context(), "web", *metav1.NewDeleteOptions(0)); err != nil {
		s.T.Fatal(err)
	}
	if err := drain.Wait(); err != nil {
		s.T.Errorf("kubectl drain: %v\n%s", err, said)
	}
	s.Await("the status to report that no node is left", func() (any, bool) {
		manager := s.manager()
		return harness.Brief(manager), manager.Status.Replicas == 3 && manager.Status.ReadyReplicas == 0 &&
			strings.Contains(harness.ConditionOf(manager, v1.ConditionReady).Message, "1 node(s) were unschedulable")
	})
	s.uncordon()
	s.triedOn(before...)
}
