//go:build e2e

package core

import (
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// queueMetric makes the API server itself serve a metric. The list of these custom resources has the fields of a metrics server's answer, and the
// autoscaler's client accepts it as one.
const queueMetric = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: queue-length.external.metrics.k8s.io
  annotations: {api-approved.kubernetes.io: 'unapproved, for a test'}
spec:
  group: external.metrics.k8s.io
  scope: Namespaced
  names: {plural: queue-length, singular: queue-length, kind: ExternalMetricValue, listKind: ExternalMetricValueList}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// setQueue sets the metric to a number of messages.
func (s *space) setQueue(messages int) {
	s.T.Helper()
	s.Apply(fmt.Sprintf("{apiVersion: external.metrics.k8s.io/v1beta1, kind: ExternalMetricValue, metadata: {name: now}, "+
		"metricName: queue-length, timestamp: %q, value: '%d'}", time.Now().UTC().Format(time.RFC3339), messages))
}

// The real HorizontalPodAutoscaler scales a PodManager to zero when its queue is empty, and up again when the queue fills. The bake time of a new
// revision does not delay its pods then. The feature gate for scaling to zero is off by default, so this test has a separate cluster.
func TestSeparateAutoscalerToZeroAndBack(t *testing.T) {
	t.Parallel()
	s := newClusterSpace(t, "hpa", "FEATURE_GATES=HPAScaleToZero=true")
	p, err := startController("hpa", "-kubeconfig", s.Cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	s.Apply(queueMetric)
	s.Await("the metric to be served", func() (any, bool) {
		out, err := s.TryKubectl("", "get", "queue-length.v1beta1.external.metrics.k8s.io")
		return out, err == nil
	})
	s.setQueue(20)
	const spec = "{image: 'app:%d', failurePolicy: {bakeSeconds: 600}}"
	s.apply("web", fmt.Sprintf(spec, 1))

	hpa := autoscaler("web", 0, 4)
	hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{
		Type: autoscalingv2.ExternalMetricSourceType,
		External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "queue-length"},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse("10"))},
		},
	}}
	hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: ptr.To[int32](0)}}
	if _, err := s.Cluster.Kube.AutoscalingV2().HorizontalPodAutoscalers(s.Name).Create(s.Ctx, hpa, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.awaitScaled("web", 2)
	s.setQueue(0)
	s.awaitScaled("web", 0)
	if ready := s.Condition("web", v1.ConditionReady); ready.Reason != v1.ReasonScaledToZero {
		t.Errorf("Ready is %+v", ready)
	}
	s.apply("web", fmt.Sprintf(spec, 2)) // a new revision, which has no pods to prove itself with
	s.setQueue(35)
	s.awaitScaled("web", 4)
	for _, pod := range s.Pods() {
		if image := pod.Spec.Containers[0].Image; image != "app:2" {
			t.Errorf("%s has the image %s", pod.Name, image)
		}
	}
}
