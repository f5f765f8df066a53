//go:build e2e

package plugin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/pkg/plugin/simulate"
)

// apartOn returns a spec whose pods have to be apart, on some of the simulated nodes.
func apartOn(replicas int, image string, nodes ...string) string {
	return fmt.Sprintf("{replicas: %d, %s, template: {spec: {containers: [{name: app, image: '%s'}], affinity: {"+
		"podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {podmanager: web}}}]}, "+
		"nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}]}}}}}}",
		replicas, hasty, image, strings.Join(nodes, ", "))
}

// Before a rollout, check and simulate report that no node is left for a surge pod. During the rollout, Ready reports the same.
func TestSurgeWithoutANode(t *testing.T) {
	s := newSpace(t)
	two, three := []string{"simulated-node-0", "simulated-node-1"}, []string{"simulated-node-0", "simulated-node-1", "simulated-node-2"}
	s.apply("web", apartOn(2, "app:1", two...))
	s.pm("status", "web", "--timeout", "1m", "--until-available")
	s.wants("check", s.finding("Surge", "web", "--controller-namespace", s.Name),
		"Surge warning the next rollout would be blocked: no node is left for a surge pod: a required anti-affinity keeps its pods apart by kubernetes.io/hostname, and 2 nodes accept such pods")
	next := manifestOf("web", apartOn(2, "app:2", two...))
	report := s.simulated(next, "-f", "-")
	if report.Outcome != simulate.SurgeBlocked || !strings.Contains(report.Message, "set maxUnavailable: 1 and maxSurge: 0") || report.Totals.Deleted > 0 {
		t.Errorf("simulated: %s, %s, %+v", report.Outcome, report.Message, report.Totals)
	}
	if report := s.simulated(manifestOf("web", apartOn(2, "app:2", three...)), "-f", "-"); report.Outcome != simulate.Completed {
		t.Errorf("with a node more: %s, %s", report.Outcome, report.Message)
	}
	s.Apply(next)
	s.Await("the surge pod to find no node", func() (any, bool) {
		out := s.Kubectl("get", "pods", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="PodScheduled")].message}`)
		return out, strings.Contains(out, "anti-affinity")
	})

	// A user who may not list nodes learns that the answer is not known, and why.
	editor := s.user("editor", "edit")
	editor.wants("check", editor.finding("Surge", "web", "--controller-namespace", s.Name), "Surge unknown a required anti-affinity keeps its pods apart by kubernetes.io/hostname, and nodes cannot be read, so whether a node is left for a surge pod is not known")
}

// Before a rollout, check and simulate name a quota that has no room for a surge pod. They find that out with a dry run, which leaves nothing behind.
func TestSurgeWithoutQuota(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, image: 'app:1', "+hasty+"}")
	s.pm("status", "web", "--timeout", "1m", "--until-available")
	s.wants("check", s.finding("Surge", "web", "--controller-namespace", s.Name), "Surge ok a rollout needs a surge pod")
	s.Apply("{apiVersion: v1, kind: ResourceQuota, metadata: {name: small}, spec: {hard: {pods: 2}}}")
	used := func() string {
		return s.Kubectl("get", "resourcequota", "small", "-o", "jsonpath={.status.used.pods} of {.status.hard.pods}")
	}
	s.Await("the quota to count", func() (any, bool) { return used(), used() == "2 of 2" })
	s.wants("check", s.finding("Surge", "web", "--controller-namespace", s.Name),
		"Surge warning the next rollout would be blocked: quota small has no room for a surge pod: pods \"web-2\" is forbidden: exceeded quota")
	next := manifestOf("web", "{replicas: 2, image: 'app:2', "+hasty+"}")
	report := s.simulated(next, "-f", "-")
	if report.Outcome != simulate.SurgeBlocked || !strings.Contains(report.Message, "quota small has no room for the surge: raise it, or set maxUnavailable: 1 and maxSurge: 0") {
		t.Errorf("simulated: %s, %s", report.Outcome, report.Message)
	}
	if got := used(); got != "2 of 2" || len(s.Pods()) != 2 {
		t.Errorf("the quota has counted a dry run: %s, and there are %d pods", got, len(s.Pods()))
	}
	// The change that the message recommends works.
	out := strings.Replace(next, "replicas: 2,", "replicas: 2, updateStrategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 0}},", 1)
	if report := s.simulated(out, "-f", "-"); report.Outcome != simulate.Completed {
		t.Errorf("without a surge: %s, %s", report.Outcome, report.Message)
	}
	s.Apply(out)
	// The quota counts the old pod until it is gone, and refuses the new one until then. The verb status would take that for a failure.
	s.Await("the pods to be updated", func() (any, bool) {
		manager := s.Manager("web")
		return harness.Brief(manager), harness.IsReady(manager) && manager.Status.UpdatedReplicas == 2
	})
}
