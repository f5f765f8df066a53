//go:build e2e

package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// scaleDown.maxTerminating limits how many pods terminate at the same time. The controller deletes further pods when these are gone.
func TestScaleDownLimit(t *testing.T) {
	t.Parallel()
	scale := func(s *space) { s.Kubectl("scale", "pm/web", "--replicas=0") }
	tests := map[string]struct {
		limit string
		end   func(s *space)
		most  int
	}{
		"two at a time when scaling down":  {"2", scale, 2},
		"half of them when scaling down":   {"50%", scale, 3},
		"two at a time when it is deleted": {"2", func(s *space) { s.Kubectl("delete", "pm", "web", "--wait=false") }, 2},
		"all of them if it says so":        {"100%", scale, 6},
		"two marked pods at a time":        {"2", (*space).markAll, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", s.held("replicas: 6, scaleDown: {maxTerminating: "+test.limit+"}"))
			s.awaitReady("web", 6)
			before := uids(s.Pods())
			w := s.WatchPods()
			test.end(s)
			s.Await(fmt.Sprintf("%d pods to be going", test.most), func() (any, bool) {
				going := s.terminating()
				return going, len(going) == test.most && int(s.Manager("web").Status.TerminatingReplicas) == test.most
			})
			harness.Steadily(s.T, 300*time.Millisecond, "no more pods terminate while these do", func() (any, bool) {
				going := s.terminating()
				return going, len(going) == test.most
			})
			s.Await("the others to follow", func() (any, bool) {
				s.letGo(s.terminating()...)
				left := uids(s.AllPods())
				for name, uid := range left {
					if before[name] == uid {
						return left, false
					}
				}
				return left, true
			})
			if _, most := w.Extremes(terminating); most != test.most {
				t.Errorf("up to %d pods were going at the same time, want %d", most, test.most)
			}
		})
	}
}

// markAll marks all pods for deletion.
func (s *space) markAll() {
	s.T.Helper()
	s.Kubectl("annotate", "pods", "-l", "podmanager=web", v1.AnnotationDelete+"=true")
}

// ready returns the status of a running pod that has been ready since a time.
func ready(since time.Time, restarts int) string {
	return fmt.Sprintf(`{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}],
		"containerStatuses":[{"name":"a","image":"a","imageID":"a","ready":true,"restartCount":%d,"state":{"running":{}}}]}`,
		since.UTC().Format(time.RFC3339), restarts)
}

// inPhase returns the status of a ready pod with another phase.
func inPhase(phase string, since time.Time) string {
	return strings.Replace(ready(since, 0), "Running", phase, 1)
}

// podState is the state of a pod when the PodManager is scaled down.
type podState struct{ status, metadata string }

// ranking is a pair of pods of which the first has to be deleted.
type ranking struct{ goes, stays podState }

// rankings returns pairs of pods that differ only in the property named by the key.
func rankings(long, short time.Time) map[string]ranking {
	mark := fmt.Sprintf(`{"annotations":{%q:"true"}}`, v1.AnnotationDelete)
	cost := func(value string) string {
		return fmt.Sprintf(`{"annotations":{%q:%q}}`, corev1.PodDeletionCost, value)
	}
	unready := strings.Replace(ready(long, 0), `"True"`, `"False"`, 1)
	same := podState{status: ready(long, 0)}
	return map[string]ranking{
		"marked":      {podState{ready(long, 0), mark}, podState{ready(short, 5), cost("-9")}},
		"pending":     {podState{status: inPhase("Pending", long)}, podState{status: inPhase("Unknown", long)}},
		"unknown":     {podState{status: inPhase("Unknown", long)}, podState{status: unready}},
		"unready":     {podState{status: unready}, podState{ready(long, 0), cost("-9")}},
		"negative":    {podState{ready(long, 0), cost("-1")}, same},
		"cheaper":     {podState{ready(long, 0), cost("100")}, podState{ready(short, 5), cost("1000")}},
		"same-cost":   {podState{ready(long, 5), cost("100")}, podState{ready(long, 0), cost("100")}},
		"ready-later": {podState{status: ready(short, 0)}, podState{status: ready(long, 5)}},
		"restarts":    {podState{status: ready(long, 5)}, same},
	}
}

// createRanked creates a pod for a PodManager to adopt, with a status that its node does not change.
func (s *space) createRanked(manager, name, status string, change func(pod *corev1.Pod)) {
	s.T.Helper()
	s.createPod(name, func(pod *corev1.Pod) {
		labelled(manager)(pod)
		pod.Spec.Containers[0].Name = "a"
		change(pod)
	})
	s.Await(name+" to be where it belongs", func() (any, bool) {
		pod := s.pod(name)
		return pod.Status, pod.Status.Phase == corev1.PodRunning || len(pod.Spec.NodeSelector) > 0
	})
	s.setPodStatus(name, status)
}

// twoNodes returns the names of two of the cluster's nodes. Nodes of other tests are not among them.
func (s *space) twoNodes() [2]string {
	s.T.Helper()
	nodes, err := shared.kube.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{LabelSelector: "type=kwok"})
	if err != nil || len(nodes.Items) < 2 {
		s.T.Fatalf("two nodes are needed: %v", err)
	}
	return [2]string{nodes.Items[0].Name, nodes.Items[1].Name}
}

// The order in which a scale-down deletes pods. In each case two pods differ in one property, and NAME-0 has to be deleted. Without the difference
// NAME-1 would be deleted, because it is newer.
func TestScaleDownRanking(t *testing.T) {
	long, short := time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	tests := rankings(long, short)
	s := newSpace(t)
	controller := s.private()
	nodes := s.twoNodes()
	// All pods are on one node, so that the number of siblings on the node does not differ.
	spec := "{replicas: %d, template: {spec: {nodeName: " + nodes[0] + ", containers: [{name: a, image: a}]}}}"
	for name := range tests {
		s.applyPrivate(name, fmt.Sprintf(spec, 2))
	}
	for name := range tests {
		s.awaitReady(name, 2)
	}
	// Set up all pods while no controller runs, so that it sees them all at once.
	kill(t, controller)
	for name, test := range tests {
		for pod, state := range map[string]podState{name + "-0": test.goes, name + "-1": test.stays} {
			s.setPodStatus(pod, state.status)
			if state.metadata != "" {
				s.patchPod(pod, state.metadata)
			}
		}
		s.patchManager(name, `{"spec":{"replicas":1}}`)
	}
	on := func(node int) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.NodeName = nodes[node] } }
	unschedulable := func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"nowhere": ""} }
	s.createRanked("siblings", "siblings-0", ready(long, 0), on(0))
	s.createRanked("siblings", "siblings-1", ready(long, 0), on(0))
	s.createRanked("siblings", "siblings-2", ready(short, 5), on(1))
	s.applyPrivate("siblings", fmt.Sprintf(spec, 2))
	s.createRanked("unassigned", "unassigned-0", inPhase("Running", long), unschedulable)
	s.createRanked("unassigned", "unassigned-1", inPhase("Pending", long), on(0))
	s.applyPrivate("unassigned", fmt.Sprintf(spec, 1))

	before := uids(s.AllPods())
	s.private()
	want := map[string]string{"siblings": "siblings-0 siblings-2", "unassigned": "unassigned-1"}
	for name := range tests {
		want[name] = name + "-1"
	}
	for name, pods := range want {
		t.Run(name, func(t *testing.T) { s.with(t).awaitLeft(name, pods, before) })
	}
}

// awaitLeft waits until only these pods of a PodManager are left. No pod of the namespace may have been replaced.
func (s *space) awaitLeft(manager, pods string, before map[string]types.UID) {
	s.T.Helper()
	s.Await(pods+" to be left, and no other pod", func() (any, bool) {
		list, err := shared.kube.CoreV1().Pods(s.Name).List(s.Ctx, metav1.ListOptions{LabelSelector: v1.LabelManager + "=" + manager})
		if err != nil {
			s.T.Fatal(err)
		}
		got := strings.Join(podNames(list.Items), " ")
		return got, got == pods
	})
	for pod, uid := range uids(s.AllPods()) {
		if before[pod] != uid {
			s.T.Errorf("%s was replaced", pod)
		}
	}
}
