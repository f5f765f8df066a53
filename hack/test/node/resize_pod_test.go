//go:build e2e

package node

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// ofPod returns the spec of two pods with pod-level limits. Their container has no limits, and may use as much as the pod.
func ofPod(limits string, is size) string {
	return fmt.Sprintf("{replicas: 2, updateStrategy: {rollingUpdate: {%s}}, failurePolicy: {gracePeriodSeconds: 0}, "+
		"template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {type: real}, terminationGracePeriodSeconds: 5, "+
		"resources: {requests: {cpu: %dm, memory: %dMi}, limits: {cpu: %dm, memory: %dMi}}, containers: [%s]}}}",
		limits, is.cpu/10, is.memory/2, is.cpu, is.memory, web("1", ""))
}

// Resources of the pod itself, beside those of its containers, change in running pods, up and down. No container restarts.
func TestResizeOfPod(t *testing.T) {
	s := newSpace(t)
	s.apply(ofPod(inPlace, size{200, 64}))
	s.awaitReady(2)
	before := s.pods()
	for _, to := range []size{{300, 64}, {100, 80}} {
		s.apply(ofPod(inPlace, to))
		t.Logf("to %d m and %d MiB took %v", to.cpu, to.memory, s.awaitReady(2))
		s.stayed(before, s.pods(), 0)
		for _, pod := range s.pods() {
			if got := pod.Status.Resources; got == nil || got.Limits.Cpu().MilliValue() != int64(to.cpu) || got.Limits.Memory().Value() != int64(to.memory)<<20 {
				t.Errorf("%s has %v, want %v", pod.Name, got, to)
			}
		}
		s.has(to)
	}
}

// resizeByVPA resizes a pod's container as VerticalPodAutoscaler's updater does: the resize, and an annotation.
func (s *space) resizeByVPA(pod *corev1.Pod, to size) {
	s.T.Helper()
	client := shared.kube.CoreV1().Pods(s.Name)
	resources := fmt.Sprintf(`{"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":"%dm"},"limits":{"cpu":"%dm","memory":"%dMi"}}}]}}`,
		to.cpu/10, to.cpu, to.memory)
	if _, err := client.Patch(s.Ctx, pod.Name, types.StrategicMergePatchType, []byte(resources), metav1.PatchOptions{}, "resize"); err != nil {
		s.T.Fatal(err)
	}
	annotation := `{"metadata":{"annotations":{"vpaInPlaceUpdated":"true"}}}`
	if _, err := client.Patch(s.Ctx, pod.Name, types.MergePatchType, []byte(annotation), metav1.PatchOptions{}); err != nil {
		s.T.Fatal(err)
	}
}

// Pods that a VerticalPodAutoscaler has resized keep their size when their image is updated in place. They also keep it when the template gets
// another size, and the condition Ready says so. The test reads the limits that the kernel applies.
func TestResizedByVPA(t *testing.T) {
	s := newSpace(t)
	from, to, other := size{100, 64}, size{200, 96}, size{150, 80}
	s.apply(spec(2, inPlace, "", modest("1", from, "", "")))
	s.awaitReady(2)
	before := s.pods()
	for i := range before {
		s.resizeByVPA(&before[i], to)
	}
	s.Await("the kubelet to have resized the pods", func() (any, bool) {
		resized := 0
		for _, pod := range s.pods() {
			if got := pod.Status.ContainerStatuses[0].Resources; got != nil && got.Limits.Cpu().MilliValue() == int64(to.cpu) && got.Limits.Memory().Value() == int64(to.memory)<<20 {
				resized++
			}
		}
		return resized, resized == 2
	})
	s.apply(spec(2, inPlace, "", modest("2", from, "", "")))
	s.awaitReady(2)
	s.stayed(before, s.pods(), 1)
	s.answers("2")
	s.has(to)
	s.apply(spec(2, inPlace, "", modest("2", other, "", "")))
	s.awaitReady(2)
	s.awaitTold(v1.ConditionReady, v1.ReasonAllAvailable, "not resized, because a VerticalPodAutoscaler")
	s.stayed(before, s.pods(), 1)
	s.has(to)
}
