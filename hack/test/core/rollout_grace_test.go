//go:build e2e

package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// graceful returns the limits of a rollout that takes pods out of service for some seconds before it updates them.
func graceful(seconds int) string {
	return fmt.Sprintf(inPlacePolicy+", inPlaceGracePeriodSeconds: %d", v1.InPlaceOnly, seconds)
}

// is returns the status of a pod's condition; empty if the pod does not have it.
func is(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition.Status
		}
	}
	return ""
}

// A pod is taken out of its Services, the grace period passes, its image changes, and the pod is back in its Services.
func TestInPlaceGrace(t *testing.T) {
	const grace = 2
	s := newSpace(t)
	s.apply("web", rolloutSpec(2, graceful(grace), "image: 'app:1'"))
	s.awaitReady("web", 2)
	before := s.Pods()
	w := s.WatchPods()
	s.apply("web", rolloutSpec(2, graceful(grace), "image: 'app:2'"))
	s.hasRestarted(s.awaitInPlace(before), 1)
	w.NothingMoved()
	w.Always(within(1, 2, serves))
	for _, pod := range before {
		story := storyOf(w.Past(), pod.Name)
		if want := []string{"closed", "out of service", "changed", "running", "open", "in service"}; !slices.Equal(story.steps, want) {
			t.Errorf("%s went through %v, want %v", pod.Name, story.steps, want)
		}
		if waited := story.changed.Sub(story.closed); waited < grace*time.Second || waited > grace*time.Second+harness.Scaled(15*time.Second) {
			t.Errorf("%s was changed %v after it was taken out of service, want %d s", pod.Name, waited, grace)
		}
	}
	s.awaitNormals(v1.EventDraining, 2, 2)
}

// story has the steps of an update in the order in which they were first seen, and the times of two of them.
type story struct {
	steps           []string
	closed, changed time.Time
}

func storyOf(past []harness.Sighting, name string) story {
	var told story
	tell := func(step string, isSo bool) bool {
		isNew := isSo && !slices.Contains(told.steps, step)
		if isNew {
			told.steps = append(told.steps, step)
		}
		return isNew
	}
	for _, seen := range past {
		if seen.Name != name {
			continue
		}
		gate, ready := is(seen.Pod, v1.InPlaceReady), is(seen.Pod, corev1.PodReady)
		changed := seen.Spec.Containers[0].Image == "app:2"
		status := seen.Status.ContainerStatuses[0]
		if tell("closed", gate == corev1.ConditionFalse) {
			told.closed = seen.At
		}
		tell("out of service", ready == corev1.ConditionFalse)
		if tell("changed", changed) {
			told.changed = seen.At
		}
		tell("running", changed && status.State.Running != nil && runsItsImages(seen.Pod))
		tell("open", changed && gate == corev1.ConditionTrue)
		tell("in service", changed && gate == corev1.ConditionTrue && ready == corev1.ConditionTrue)
	}
	return told
}

// awaitClosed waits until one pod is out of service, and returns it.
func (s *space) awaitClosed() *corev1.Pod {
	s.T.Helper()
	var closed *corev1.Pod
	s.Await("one pod to be out of service", func() (any, bool) {
		pods := s.Pods()
		at := slices.IndexFunc(pods, func(pod corev1.Pod) bool {
			return is(&pod, v1.InPlaceReady) == corev1.ConditionFalse && is(&pod, corev1.PodReady) == corev1.ConditionFalse
		})
		if at >= 0 {
			closed = &pods[at]
		}
		return podNames(pods), at >= 0
	})
	return closed
}

// A pause during the grace period puts the unchanged pod back in service. So does a return to the old template.
func TestInPlaceGraceIsPaused(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"by a pause":                rolloutSpec(2, graceful(600), "image: 'app:2', paused: true"),
		"by the template as it was": rolloutSpec(2, graceful(600), "image: 'app:1'"),
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", rolloutSpec(2, graceful(600), "image: 'app:1'"))
			s.awaitReady("web", 2)
			before := s.Pods()
			w := s.WatchPods()
			s.apply("web", rolloutSpec(2, graceful(600), "image: 'app:2'"))
			closed := s.awaitClosed()
			s.apply("web", end)
			s.Await("the pod to be back", func() (any, bool) { pod := s.pod(closed.Name); return pod.Status, serves(pod) })
			s.hasRestarted(s.Pods(), 0)
			if left := ofImage(s.Pods(), "app:1"); len(left) != 2 {
				t.Errorf("only %v have their old image", podNames(left))
			}
			if strings.Contains(end, "paused") {
				s.Await("the status to report the pause", func() (any, bool) {
					got := s.Condition("web", v1.ConditionReady)
					return got, got.Status == metav1.ConditionFalse && got.Reason == v1.ReasonPaused
				})
			} else {
				s.awaitReady("web", 2)
			}

			// Without a grace period, pods with the gate are updated at once.
			s.apply("web", rolloutSpec(2, graceful(0), "image: 'app:3', paused: false"))
			s.hasRestarted(s.awaitInPlace(before), 1)
			w.NothingMoved()
			w.Always(within(1, 2, serves))
		})
	}
}

// Pods that were created before there was a grace period have no readiness gate. They are updated in service, and an event reports it. New pods
// have the gate.
func TestInPlaceGraceIsRaised(t *testing.T) {
	t.Parallel()
	for _, policy := range []v1.PodUpdatePolicy{v1.InPlaceIfPossible, v1.InPlaceOnly} {
		t.Run(string(policy), func(t *testing.T) {
			s := newSpace(t)
			limits := fmt.Sprintf(inPlacePolicy, policy)
			s.apply("web", rolloutSpec(2, limits, "image: 'app:1'"))
			s.awaitReady("web", 2)
			before := s.Pods()
			w := s.WatchPods()
			s.apply("web", rolloutSpec(2, limits+", inPlaceGracePeriodSeconds: 600", "image: 'app:2'"))
			s.hasRestarted(s.awaitInPlace(before), 1)
			w.NothingMoved()
			w.Always(within(1, 2, serves))
			if notes := s.awaitEvents("web", v1.EventUpdated, v1.EventUpdated); !strings.Contains(notes, "without being taken out of service first: created before inPlaceGracePeriodSeconds was set") {
				t.Errorf("the events do not say that the pods were not drained: %s", notes)
			}
			s.deletePod(before[0].Name)
			s.Await("the replacement of the deleted pod to have the gate", func() (any, bool) {
				pods := s.Pods()
				return podNames(pods), slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
					return len(pod.Spec.ReadinessGates) == 1 && is(&pod, v1.InPlaceReady) == corev1.ConditionTrue
				})
			})
		})
	}
}

// If a pod is released while it is out of service, the controller first puts it back in service, because no controller would do so later.
func TestReleaseOpensTheGate(t *testing.T) {
	t.Parallel()
	tests := map[string]func(s *space, pod string){
		"relabelled": func(s *space, pod string) { s.patchPod(pod, `{"labels":{"podmanager":null}}`) },
		"orphaned":   func(s *space, _ string) { s.Kubectl("delete", "pm", "web", "--cascade=orphan", "--wait=false") },
	}
	for name, giveAway := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", rolloutSpec(2, graceful(600), "image: 'app:1'"))
			s.awaitReady("web", 2)
			s.apply("web", rolloutSpec(2, graceful(600), "image: 'app:2'"))
			closed := s.awaitClosed()
			giveAway(s, closed.Name)
			s.Await("the pod to be free and in service", func() (any, bool) {
				pod := s.pod(closed.Name)
				return pod.Status, pod.UID == closed.UID && len(pod.OwnerReferences) == 0 && serves(pod)
			})
		})
	}
}

// The controller is killed between any two steps. The next controller finishes the update.
func TestInPlaceSurvivesCrash(t *testing.T) {
	t.Parallel()
	refuse := func(f *faulty, subresource string) {
		f.answer("refused", 503, func(r faults.Request) bool {
			return r.Verb == "patch" && r.Resource == "pods" && r.Subresource == subresource && r.Namespace == f.Name
		})
	}
	first, second := sized("app:1", someCPU, ""), sized("app:2", moreCPU, "")
	tests := map[string]struct {
		grace int
		until func(f *faulty)
	}{
		"out of service": {2, func(f *faulty) {
			refuse(f, "resize") // so that the update gets no further
			f.awaitClosed()
			f.Await("the change to be tried", func() (any, bool) { n := f.proxy.Count("refused"); return n, n > 0 })
		}},
		"announced": {0, func(f *faulty) {
			refuse(f, "resize")
			f.Await("the change to be tried", func() (any, bool) { n := f.proxy.Count("refused"); return n, n > 0 })
		}},
		"resized": {0, func(f *faulty) {
			refuseAfterResize(f)
			f.Await("a pod to have its CPU, and not its image", func() (any, bool) { pods := f.Pods(); return podNames(pods), halfChanged(pods) })
		}},
		"changed and out of service": {2, func(f *faulty) {
			f.awaitClosed()
			refuse(f, "status")
			f.Await("the gate to be tried", func() (any, bool) { n := f.proxy.Count("refused"); return n, n > 0 })
			if len(ofImage(f.Pods(), "app:2")) != 1 {
				f.T.Errorf("of the pods %v one should be changed", podNames(f.Pods()))
			}
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFaulty(t)
			f.applyPrivate("web", rolloutSpec(3, graceful(test.grace), first))
			f.awaitReady("web", 3)
			before := f.Pods()
			w := f.WatchPods()
			f.applyPrivate("web", rolloutSpec(3, graceful(test.grace), second))
			test.until(f)
			kill(t, f.controller)
			f.private()
			after := f.awaitInPlace(before)
			f.hasRestarted(after, 1)
			for _, pod := range after {
				if got := pod.Status.ContainerStatuses[0].Resources.Requests.Cpu().String(); got != "900m" {
					t.Errorf("%s has %s", pod.Name, got)
				}
			}
			w.NothingMoved()
			w.Always(within(2, 3, serves))
		})
	}
}

// refuseAfterResize forwards the resize of a pod, and then refuses patches of the pod itself.
func refuseAfterResize(f *faulty) {
	var resized atomic.Bool
	f.answer("refused", 503, func(r faults.Request) bool {
		if r.Verb != "patch" || r.Resource != "pods" || r.Namespace != f.Name {
			return false
		}
		if r.Subresource == "resize" {
			resized.Store(true)
		}
		return r.Subresource == "" && resized.Load()
	})
}

// The controller is killed when a pod has its new CPU, but not yet its new revision. Then the spec is changed back. In the end the pod matches its
// revision.
func TestInPlaceSurvivesCrashAndRevert(t *testing.T) {
	f := newFaulty(t)
	first, second := sized("app:1", someCPU, ""), sized("app:1", moreCPU, "")
	f.applyPrivate("web", rolloutSpec(3, graceful(0), first))
	manager := f.awaitReady("web", 3)
	before := f.Pods()
	refuseAfterResize(f)
	f.applyPrivate("web", rolloutSpec(3, graceful(0), second))
	f.Await("a pod to have its CPU, and not its revision", func() (any, bool) { pods := f.Pods(); return podNames(pods), halfChanged(pods) })
	kill(t, f.controller)
	f.applyPrivate("web", rolloutSpec(3, graceful(0), first))
	f.private()
	f.Await("all pods to match the old revision again", func() (any, bool) {
		pods, now := f.Pods(), f.Manager("web")
		for _, pod := range pods {
			status := pod.Status.ContainerStatuses[0]
			if pod.Spec.Containers[0].Resources.Requests.Cpu().String() != "100m" || status.Resources.Requests.Cpu().String() != "100m" ||
				pod.Labels[v1.LabelRevision] != revision(manager) || status.RestartCount != 0 || strings.Contains(pod.Annotations[v1.AnnotationInPlace], "begun") {
				return fmt.Sprint(pod.Name, pod.Annotations, pod.Spec.Containers[0].Resources, harness.Brief(now)), false
			}
		}
		return harness.Brief(now), len(pods) == 3 && harness.IsReady(now)
	})
	if now := f.Pods(); !maps.Equal(uids(now), uids(before)) {
		t.Errorf("the pods are not the same: %v before, %v now", podNames(before), podNames(now))
	}
}

// halfChanged reports whether a pod has been resized, but still has its old image.
func halfChanged(pods []corev1.Pod) bool {
	return slices.ContainsFunc(ofImage(pods, "app:1"), func(pod corev1.Pod) bool {
		return pod.Spec.Containers[0].Resources.Requests.Cpu().String() == "900m"
	})
}
