//go:build e2e

package core

import (
	"context"
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

// releaseAtEnd removes the finalizers of the test's PodManager when the test and its controller have ended. Otherwise the namespace would stay with
// all its pods.
func (s *space) releaseAtEnd() {
	s.T.Cleanup(func() {
		_, _ = s.managers().Patch(context.Background(), "web", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
}

// The controller is killed three times during a rollout of 100 pods. In one case the template is changed before the controller runs again. The budget
// is not exceeded at any version of any pod.
func TestRolloutBudgetSurvivesKills(t *testing.T) {
	t.Parallel()
	for name, images := range map[string][]string{
		"one change":  {"nginx:2", "nginx:2", "nginx:2"},
		"two changes": {"nginx:2", "nginx:3", "nginx:3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.releaseAtEnd()
			controller := s.private()
			spec := func(image string) string {
				return fmt.Sprintf("{replicas: 100, image: %q, minReadySeconds: 1, updateStrategy: {rollingUpdate: {maxSurge: 15%%, maxUnavailable: 10}}}", image)
			}
			s.applyPrivate("web", spec("nginx:1"))
			s.awaitReady("web", 100)
			w := s.WatchPods()
			began := time.Now()
			for i, image := range images {
				s.applyPrivate("web", spec(image))
				// Odd numbers, so that the kill comes between two requests of a batch.
				w.When(fmt.Sprintf("some pods of %s", image), running(image, []int{7, 37, 67}[i]))
				kill(t, controller)
				if seen := byImage(s.Pods()); seen[image] >= 100 {
					t.Fatalf("the controller was killed too late: %v", seen)
				}
				controller = s.private()
			}
			s.AwaitFor(2*harness.Patience, "the end of the rollout", func() (any, bool) {
				manager := s.Manager("web")
				return harness.Brief(manager), harness.IsReady(manager) && manager.Status.UpdatedReplicas == 100
			})
			t.Logf("rolled out in %v", time.Since(began))
			if manager := s.awaitReady("web", 100); manager.Status.CurrentRevision != manager.Status.UpdateRevision || manager.Status.CurrentReplicas != 100 {
				t.Errorf("at the end: %s", harness.Brief(manager))
			}
			w.Always(withinBudget(90, 115, time.Second))
			if seen := byImage(s.Pods()); seen[images[2]] != 100 {
				t.Errorf("the pods run %v", seen)
			}
		})
	}
}

// While a bad revision is rolled out, a scale-up creates pods of the good revision, whatever changes in between.
func TestScaleDuringBadRollout(t *testing.T) {
	s := newSpace(t)
	s.apply("web", spec(10, "nginx:1", ""))
	s.awaitReady("web", 10)
	w := s.WatchPods()
	s.apply("web", spec(10, "nginx:never-ready", ""))
	s.awaitState("web", "13 pods, 8 current, 5 updated, 8 available: "+rollingOut)
	s.apply("web", spec(20, "nginx:never-ready", ""))
	// The scale-up creates pods of the good revision only, until 18 of them are available: 20 replicas minus maxUnavailable.
	s.awaitState("web", "23 pods, 18 current, 5 updated, 18 available: "+rollingOut)
	s.apply("web", spec(6, "nginx:never-ready", ""))
	s.awaitState("web", "9 pods, 4 current, 5 updated, 4 available: "+rollingOut)
	// Scale and change the template at once, as in the last step of the Kubernetes test.
	s.apply("web", spec(4, "nginx:3", ""))
	s.awaitState("web", "4 pods, 4 current, 4 updated, 4 available: "+allDone)
	w.Always(func(pods []*corev1.Pod, _ time.Time) string {
		if bad := running("nginx:never-ready", 6)(pods); bad {
			return "more pods than maxSurge and maxUnavailable allow are of a revision that does not become available"
		}
		return ""
	})
}

// oneRevision holds if pods of two revisions never exist at the same time, including terminating pods.
func oneRevision(pods []*corev1.Pod, _ time.Time) string {
	seen := map[string]bool{}
	for _, pod := range pods {
		seen[pod.Labels[v1.LabelRevision]] = true
	}
	if len(seen) > 1 {
		return fmt.Sprintf("pods of %d revisions at the same time", len(seen))
	}
	return ""
}

// With Recreate, the first new pod is created after the last old pod is gone, however long that takes, and whatever changes in between.
func TestRecreateNeverOverlaps(t *testing.T) {
	s := newSpace(t)
	held := func(replicas int, more string) string {
		return strings.Replace(s.held(fmt.Sprintf("replicas: %d, updateStrategy: {type: Recreate}", replicas)), "image: a", "image: a"+more, 1)
	}
	s.apply("web", held(4, ""))
	s.awaitReady("web", 4)
	old := podNames(s.Pods())
	w := s.WatchPods()
	s.apply("web", held(4, ", env: [{name: A, value: b}]"))
	none := "0 pods, 0 current, 0 updated, 0 available: Ready=False/TooFewReplicas Available=False/NotEnoughReplicas Progressing=True/Scaling"
	if manager := s.awaitState("web", none); manager.Status.TerminatingReplicas != 4 {
		t.Errorf("want 4 terminating pods: %s", harness.Brief(manager))
	}
	s.apply("web", held(5, ", env: [{name: A, value: b}]"))
	s.letGo(old[:3]...)
	s.Await("three pods to be gone", func() (any, bool) {
		manager := s.Manager("web")
		return harness.Brief(manager), manager.Status.TerminatingReplicas == 1 && manager.Status.ObservedGeneration == manager.Generation
	})
	harness.Steadily(s.T, time.Second, "no pod beside the last old one", func() (any, bool) { n := len(s.Pods()); return n, n == 0 })
	s.letGo(old[3])
	s.awaitState("web", "5 pods, 5 current, 5 updated, 5 available: "+allDone)
	w.Always(oneRevision)
}

// With TerminationComplete, terminating pods count against replicas + maxSurge.
func TestRollingUpdateWaitsForGonePods(t *testing.T) {
	s := newSpace(t)
	held := func(env string) string {
		more := "replicas: 4, podReplacementPolicy: TerminationComplete, updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}"
		return strings.Replace(s.held(more), "image: a", "image: a, env: [{name: A, value: "+env+"}]", 1)
	}
	s.apply("web", held("a"))
	s.awaitReady("web", 4)
	w := s.WatchPods()
	s.apply("web", held("b"))
	s.Await("the rollout to be done", func() (any, bool) {
		for _, pod := range s.AllPods() {
			if pod.DeletionTimestamp != nil && len(pod.Finalizers) > 0 {
				s.letGo(pod.Name)
			}
		}
		manager := s.Manager("web")
		return harness.Brief(manager), harness.IsReady(manager) && manager.Status.UpdatedReplicas == 4
	})
	s.awaitReady("web", 4)
	w.Always(withinBudget(3, 5, 0))
	if _, most := w.Extremes(existing); most > 5 {
		t.Errorf("up to %d pods existed at the same time, want 5", most)
	}
}
