//go:build e2e

package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// resizeByVPA resizes a pod's CPU as VerticalPodAutoscaler's updater does: the resize, and an annotation.
func (s *space) resizeByVPA(pod, cpu string) {
	s.T.Helper()
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":%q}}}]}}`, cpu)
	_, err := shared.kube.CoreV1().Pods(s.Name).Patch(s.Ctx, pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize")
	if err != nil {
		s.T.Fatal(err)
	}
	s.patchPod(pod, `{"annotations":{"vpaInPlaceUpdated":"true"}}`)
}

// cpuOf returns the CPU requests of pods.
func cpuOf(pods []corev1.Pod) (amounts []string) {
	for _, pod := range pods {
		amounts = append(amounts, pod.Spec.Containers[0].Resources.Requests.Cpu().String())
	}
	return slices.Compact(slices.Sorted(slices.Values(amounts)))
}

// Pods that a VerticalPodAutoscaler has resized keep their CPU when they get a new image in place. If the CPU in the template changes, they get the
// new revision, but keep their CPU.
func TestVerticalPodAutoscaler(t *testing.T) {
	s := newSpace(t)
	limits := "podUpdatePolicy: InPlaceIfPossible, maxSurge: 0, maxUnavailable: 1"
	s.apply("web", rolloutSpec(3, limits, sized("app:1", "requests: {cpu: 100m}", "")))
	s.awaitReady("web", 3)
	for _, pod := range s.Pods() {
		s.resizeByVPA(pod.Name, "300m")
	}
	before := s.Pods()
	s.apply("web", rolloutSpec(3, limits, sized("app:2", "requests: {cpu: 100m}", "")))
	after := s.awaitInPlace(before)
	if got := cpuOf(after); !slices.Equal(got, []string{"300m"}) {
		t.Errorf("with another image, the pods have CPU requests of %v, want 300m", got)
	}
	s.hasRestarted(after, 1)
	s.apply("web", rolloutSpec(3, limits, sized("app:2", "requests: {cpu: 200m}", "")))
	after = s.awaitInPlace(before)
	if got := cpuOf(after); !slices.Equal(got, []string{"300m"}) {
		t.Errorf("with other CPU in the template, the pods have CPU requests of %v, want 300m", got)
	}
	s.hasRestarted(after, 1)
	s.Await("Ready to say why the pods were not resized", func() (any, bool) {
		ready := s.Condition("web", v1.ConditionReady)
		return ready, ready.Status == metav1.ConditionTrue && strings.Contains(ready.Message, "web-0 and 2 more: not resized, because a VerticalPodAutoscaler")
	})
}

// A resize by a VerticalPodAutoscaler that the node defers does not hold a rollout up.
func TestResizeByOtherClientDeferred(t *testing.T) {
	s := newSpace(t)
	limits := "podUpdatePolicy: InPlaceIfPossible, maxSurge: 0, maxUnavailable: 1"
	s.apply("web", rolloutSpec(2, limits, sized("app:1", "requests: {cpu: 100m}", simulated+": deferred")))
	s.awaitReady("web", 2)
	before := s.Pods()
	for _, pod := range before {
		s.resizeByVPA(pod.Name, "300m")
	}
	s.Await("the resizes to be deferred", func() (any, bool) {
		pods := s.Pods()
		return pods[0].Status, !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return podstate.Condition(&pod, corev1.PodResizePending) == nil })
	})
	s.apply("web", rolloutSpec(2, limits, sized("app:2", "requests: {cpu: 100m}", simulated+": deferred")))
	s.hasRestarted(s.awaitInPlace(before), 1)
	s.awaitReady("web", 2)
}

// Pod-level resources change in place if the API server and the node support that. Otherwise the pods are replaced.
func TestPodLevelResources(t *testing.T) {
	s := newSpace(t)
	const spec = "template: {spec: {resources: {requests: {cpu: %s}, limits: {cpu: '1'}}, containers: [{name: a, image: a}]}}"
	limits := "podUpdatePolicy: InPlaceIfPossible, maxSurge: 0, maxUnavailable: 1"
	s.apply("web", rolloutSpec(2, limits, fmt.Sprintf(spec, "100m")))
	s.awaitReady("web", 2)
	s.apply("web", rolloutSpec(2, limits, fmt.Sprintf(spec, "200m")))
	s.awaitReady("web", 2)
	for _, pod := range s.Pods() {
		if got := pod.Spec.Resources.Requests.Cpu().String(); got != "200m" {
			t.Errorf("%s requests %s of CPU, want 200m", pod.Name, got)
		}
	}
	if got := s.Manager("web").Status; got.UpdatedReplicas != 2 {
		t.Errorf("%d updated", got.UpdatedReplicas)
	}
}
