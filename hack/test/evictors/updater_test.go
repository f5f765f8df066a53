//go:build e2e

package evictors

import (
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
)

// recommendation is a status of a VerticalPodAutoscaler, which its recommender would write. The lower bound is above the requests of the example's
// pods, so the updater does not wait until they are old.
const recommendation = `{"status":{"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}],
"recommendation":{"containerRecommendations":[{"containerName":"nginx","lowerBound":{"cpu":"200m","memory":"128Mi"},
"target":{"cpu":"300m","memory":"256Mi"},"uncappedTarget":{"cpu":"300m","memory":"256Mi"},"upperBound":{"cpu":"600m","memory":"512Mi"}}]}}}`

// example applies the example of artifacts/integrations with the given replacements of text, and waits until its pods are ready.
func (s *space) example(replace ...string) {
	s.T.Helper()
	data, err := os.ReadFile("artifacts/integrations/examples/vpa.yaml")
	if err != nil {
		s.T.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(data), replace[i]) {
			s.T.Fatalf("the example has no %q", replace[i])
		}
	}
	s.Apply(strings.NewReplacer(replace...).Replace(string(data)))
	s.awaitReady("worker", 4, nil)
}

// update writes the recommendation and starts an updater that sees only the test's namespace.
func (s *space) update() {
	s.T.Helper()
	s.Kubectl("patch", "verticalpodautoscaler", "worker", "--subresource=status", "--type=merge", "-p", recommendation)
	s.run(shared.updater, "--kubeconfig", s.Cluster.Kubeconfig, "--vpa-object-namespace", s.Name, "--updater-interval", "2s",
		"--use-admission-controller-status=false", "--address", "127.0.0.1:0", "--v", "4")
}

// The updater evicts all pods of the example, and the example's PodDisruptionBudget holds: at most one pod is missing at a time. No admission
// controller raises the requests of the new pods here, so the updater would evict them, too.
func TestUpdaterEvictsWithinTheBudget(t *testing.T) {
	s := newSpace(t)
	s.example()
	before, w := s.uids(), s.WatchPods()
	s.update()
	w.When("all pods to be replaced", func(pods []*corev1.Pod) bool {
		for _, pod := range pods {
			if before[pod.UID] {
				return false
			}
		}
		return len(pods) > 0
	})
	w.Always(func(pods []*corev1.Pod, _ time.Time) string {
		if ready(pods) < 3 {
			return "more than one pod is missing"
		}
		return ""
	})
}

// Without a PodDisruptionBudget, the updater evicts all pods at once, because it does not know how many a PodManager has. Therefore the example has
// a budget. If this test fails one day, the example may no longer need it.
func TestUpdaterWithoutABudget(t *testing.T) {
	s := newSpace(t)
	s.example("podmanager: worker", "podmanager: another") // the budget then selects no pod of this test
	w := s.WatchPods()
	s.update()
	w.When("no pod to be ready", func(pods []*corev1.Pod) bool { return ready(pods) == 0 })
}

// The updater resizes pods in place. The controller neither resizes them back nor replaces any.
func TestUpdaterResizes(t *testing.T) {
	s := newSpace(t)
	s.example("updateMode: Recreate", "updateMode: InPlaceOrRecreate")
	w := s.WatchPods()
	s.update()
	resized := func() (any, bool) {
		var seen []string
		all := true
		for _, pod := range s.Pods() {
			cpu := pod.Spec.Containers[0].Resources.Requests.Cpu().String()
			seen = append(seen, pod.Name+": "+cpu)
			all = all && cpu == "300m"
		}
		return seen, all
	}
	s.Await("all pods to be resized", resized)
	s.awaitReady("worker", 4, nil)
	// Make the controller sync, which must not change the pods.
	s.Kubectl("annotate", "pm", "worker", "test=touched")
	s.Kubectl("patch", "pm", "worker", "--type=merge", "-p", `{"spec":{"minReadySeconds":1}}`)
	s.Await("the controller to have seen the change", func() (any, bool) {
		manager := s.Manager("worker")
		return harness.Brief(manager), harness.IsReady(manager)
	})
	if seen, all := resized(); !all {
		t.Errorf("pods were resized back: %v", seen)
	}
	w.NothingMoved()
}
