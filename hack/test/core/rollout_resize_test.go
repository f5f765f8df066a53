//go:build e2e

package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// sized returns a template of one container with resources. note is an annotation that controls how the simulated node handles a resize.
func sized(image, resources, note string) string {
	return fmt.Sprintf("template: {metadata: {annotations: {%s}}, spec: {containers: [{name: a, image: '%s', resources: {%s}}]}}", note, image, resources)
}

// restarting returns a template whose container is restarted if its memory changes, but not if its CPU changes.
func restarting(image, cpu, memory string) string {
	return fmt.Sprintf("template: {spec: {containers: [{name: a, image: '%s', resources: {requests: {cpu: %s, memory: %s}}, "+
		"resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}, {resourceName: memory, restartPolicy: RestartContainer}]}]}}", image, cpu, memory)
}

// simulated is the annotation that makes the simulated node refuse or defer a resize.
const simulated = "simulate.podmanager/resize"

// quantities parses "cpu=100m memory=1Gi".
func quantities(text string) corev1.ResourceList {
	var list corev1.ResourceList
	for _, part := range strings.Fields(text) {
		name, amount, _ := strings.Cut(part, "=")
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return list
}

// Running pods get CPU and memory through the resize subresource, and no container is restarted.
func TestInPlaceResources(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		image, before, after, requests, limits string
		restarts                               int32
	}{
		"more": {"a:1", "requests: {cpu: 100m, memory: 100Mi}", "requests: {cpu: 200m, memory: 150Mi}",
			"cpu=200m memory=150Mi", "", 0},
		"less CPU": {"a:1", "requests: {cpu: 200m}, limits: {cpu: 2}", "requests: {cpu: 100m}, limits: {cpu: 1}",
			"cpu=100m", "cpu=1", 0},
		"limits only, which are also requested": {"a:1", "limits: {cpu: 100m, memory: 100Mi}", "limits: {cpu: 200m, memory: 200Mi}",
			"cpu=200m memory=200Mi", "cpu=200m memory=200Mi", 0},
		"one limit of two": {"a:1", "requests: {cpu: 100m}, limits: {cpu: 1, memory: 1Gi}", "requests: {cpu: 100m}, limits: {cpu: 1, memory: 2Gi}",
			"cpu=100m memory=2Gi", "cpu=1 memory=2Gi", 0},
		"with an image": {"a:2", "requests: {cpu: 100m}", "requests: {cpu: 300m}",
			"cpu=300m", "", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			limits := fmt.Sprintf(inPlacePolicy, v1.InPlaceOnly)
			s.apply("web", rolloutSpec(2, limits, sized("a:1", test.before, "")))
			s.awaitReady("web", 2)
			before := s.Pods()
			w := s.WatchPods()
			s.apply("web", rolloutSpec(2, limits, sized(test.image, test.after, "")))
			after := s.awaitInPlace(before)
			w.NothingMoved()
			w.Always(within(1, 2, serves))
			s.hasRestarted(after, test.restarts)
			want := corev1.ResourceRequirements{Requests: quantities(test.requests), Limits: quantities(test.limits)}
			w.Always(resizedBefore("a:2", want))
			for _, pod := range after {
				if got := pod.Spec.Containers[0].Resources; !equality.Semantic.DeepEqual(got, want) {
					t.Errorf("%s asks for %+v, want %+v", pod.Name, got, want)
				}
				if got := pod.Status.ContainerStatuses[0].Resources; got == nil || !equality.Semantic.DeepEqual(*got, want) {
					t.Errorf("%s has %+v, want %+v", pod.Name, got, want)
				}
			}
		})
	}
}

// resizedBefore holds if a pod gets this image only after the node has resized it. A kubelet that gets both at once would start the container with
// its new limits within the pod's old ones.
func resizedBefore(image string, want corev1.ResourceRequirements) harness.Invariant {
	return func(pods []*corev1.Pod, _ time.Time) string {
		for _, pod := range pods {
			has := pod.Status.ContainerStatuses[0].Resources
			if pod.Spec.Containers[0].Image == image && (has == nil || !equality.Semantic.DeepEqual(*has, want)) {
				return fmt.Sprintf("%s is to run %s, but has %+v", pod.Name, image, has)
			}
		}
		return ""
	}
}

// The restart of a container for an update in place is not a failure, whatever its exit code is, even without a grace period.
func TestInPlaceIsNoFailure(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before, after string
		// least and most are the possible numbers of restarts. A node may carry out two changes one after the other.
		least, most int32
	}{
		"another image":                             {"image: 'app:1'", "image: 'app:2'", 1, 1},
		"memory that takes a restart":               {restarting("a:1", "100m", "100Mi"), restarting("a:1", "100m", "200Mi"), 1, 1},
		"CPU that takes none, where memory does":    {restarting("a:1", "100m", "100Mi"), restarting("a:1", "200m", "100Mi"), 0, 0},
		"memory that takes a restart, and an image": {restarting("a:1", "100m", "100Mi"), restarting("a:2", "100m", "200Mi"), 1, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			limits := fmt.Sprintf(inPlacePolicy, v1.InPlaceOnly)
			policy := "failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 0}, "
			s.apply("web", rolloutSpec(2, limits, policy+test.before))
			s.awaitReady("web", 2)
			before := s.Pods()
			s.apply("web", rolloutSpec(2, limits, policy+test.after))
			for _, pod := range s.awaitInPlace(before) {
				if got := pod.Status.ContainerStatuses[0].RestartCount; got < test.least || got > test.most {
					t.Errorf("%s was restarted %d times, want %d to %d", pod.Name, got, test.least, test.most)
				}
			}
			for _, reason := range []string{v1.EventHalted, v1.EventRolledBack} {
				if count, notes := s.warnings("web", reason); count != 0 {
					t.Errorf("%d events %s: %s", count, reason, notes)
				}
			}
		})
	}
}

const (
	someCPU = "requests: {cpu: 100m}"
	moreCPU = "requests: {cpu: 900m}"
)

// With InPlaceIfPossible, a pod whose node cannot give it more is replaced.
func TestInPlaceInfeasible(t *testing.T) {
	s := newSpace(t)
	limits, note := fmt.Sprintf(inPlacePolicy, v1.InPlaceIfPossible), simulated+": infeasible"
	s.apply("web", rolloutSpec(3, limits, sized("a:1", someCPU, note)))
	s.awaitReady("web", 3)
	before := uids(s.Pods())
	w := s.WatchPods()
	s.apply("web", rolloutSpec(3, limits, sized("a:1", moreCPU, note)))
	s.awaitReady("web", 3)
	for _, pod := range s.Pods() {
		if got := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); pod.UID == before[pod.Name] || got != "900m" {
			t.Errorf("%s asks for %s; replaced: %t", pod.Name, got, pod.UID != before[pod.Name])
		}
	}
	w.Always(within(2, 3, serves))
	infeasible := false
	for _, seen := range w.Past() {
		for _, condition := range seen.Status.Conditions {
			infeasible = infeasible || condition.Type == corev1.PodResizePending && condition.Reason == corev1.PodReasonInfeasible
		}
	}
	if !infeasible {
		t.Error("no pod was ever resized, so the pods were replaced for another reason")
	}
}

// With InPlaceOnly, the rollout stops at the first pod and reports why. With the old template, the pod is resized back.
func TestInPlaceOnlyInfeasible(t *testing.T) {
	s := newSpace(t)
	limits, note := fmt.Sprintf(inPlacePolicy, v1.InPlaceOnly), simulated+": infeasible"
	s.apply("web", rolloutSpec(3, limits, sized("a:1", someCPU, note)))
	s.awaitReady("web", 3)
	w := s.WatchPods()
	s.apply("web", rolloutSpec(3, limits, sized("a:1", moreCPU, note)))
	s.awaitNotInPlace("Infeasible: Node didn't have enough capacity")
	harness.Steadily(s.T, time.Second, "no other pod is touched", func() (any, bool) {
		pods := s.Pods()
		touched := 0
		for _, pod := range pods {
			if pod.Spec.Containers[0].Resources.Requests.Cpu().String() == "900m" {
				touched++
			}
		}
		return podNames(pods), touched == 1
	})
	w.NothingMoved()
	w.Always(within(2, 3, serves))

	s.apply("web", rolloutSpec(3, limits, sized("a:1", someCPU, note)))
	s.awaitReady("web", 3)
	w.NothingMoved()
	for _, pod := range s.Pods() {
		if got := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "100m" {
			t.Errorf("%s asks for %s", pod.Name, got)
		}
	}
}

// awaitNotInPlace waits until the status of web reports that its pods cannot be updated in place, and why.
func (s *space) awaitNotInPlace(why string) {
	s.T.Helper()
	s.Await("the status to report why the pods cannot be updated in place", func() (any, bool) {
		ready, stalled := s.Condition("web", v1.ConditionReady), s.Condition("web", v1.ConditionStalled)
		manager := s.Manager("web")
		return harness.Brief(manager), manager.Status.ObservedGeneration == manager.Generation &&
			ready.Status == metav1.ConditionFalse && ready.Reason == v1.ReasonNotInPlace && strings.Contains(ready.Message, why) &&
			stalled.Status == metav1.ConditionTrue && stalled.Reason == v1.ReasonNotInPlace && strings.Contains(stalled.Message, why)
	})
	s.Await("an event that reports the same", func() (any, bool) {
		count, notes := s.warnings("web", v1.EventNotInPlace)
		return notes, count == 1 && strings.Contains(notes, why)
	})
}

// The rollout waits for a node that has no room yet. Meanwhile the pod serves, and counts as available.
func TestInPlaceDeferred(t *testing.T) {
	s := newSpace(t)
	limits, note := fmt.Sprintf(inPlacePolicy, v1.InPlaceIfPossible), simulated+": deferred"
	s.apply("web", rolloutSpec(3, limits, sized("a:1", someCPU, note)))
	s.awaitReady("web", 3)
	before := s.Pods()
	w := s.WatchPods()
	s.apply("web", rolloutSpec(3, limits, sized("a:1", moreCPU, note)))
	isDeferred := func() (any, bool) {
		manager, deferred := s.Manager("web"), 0
		for _, pod := range s.Pods() {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodResizePending && condition.Reason == corev1.PodReasonDeferred {
					deferred++
				}
			}
		}
		ready := s.Condition("web", v1.ConditionReady)
		return fmt.Sprint(deferred, " ", harness.Brief(manager)), deferred == 1 && manager.Status.UpdatedReplicas == 1 &&
			manager.Status.ReadyReplicas == 3 && manager.Status.AvailableReplicas == 3 && ready.Reason == v1.ReasonRollingOut &&
			strings.Contains(ready.Message, ": resize deferred: Node didn't have enough capacity")
	}
	s.Await("one pod to wait for its node", isDeferred)
	harness.Steadily(s.T, time.Second, "one pod goes on waiting, and no other is updated", isDeferred)
	for _, pod := range before {
		s.patchPod(pod.Name, `{"annotations":{"`+simulated+`":null}}`) // the node has room again
	}
	for _, pod := range s.awaitInPlace(before) {
		if got := pod.Status.ContainerStatuses[0].Resources.Requests.Cpu().String(); got != "900m" {
			t.Errorf("%s has %s", pod.Name, got)
		}
	}
	w.NothingMoved()
	w.Always(within(2, 3, serves))
}
