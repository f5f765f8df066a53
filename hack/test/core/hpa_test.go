//go:build e2e

package core

import (
	"fmt"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// The real HorizontalPodAutoscaler scales a PodManager through its scale subresource. It has no metrics here, so it only enforces minReplicas and
// maxReplicas. It syncs every 15 s.
func TestHorizontalPodAutoscaler(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: nginx}")
	s.awaitReady("web", 1)
	_, err := shared.kube.AutoscalingV2().HorizontalPodAutoscalers(s.Name).Create(s.Ctx, autoscaler("web", 3, 5), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.awaitScaled("web", 3)
	s.Kubectl("scale", "pm/web", "--replicas=8")
	s.awaitScaled("web", 5)
}

// autoscaler returns an autoscaler that targets a CPU utilization of 50 %.
func autoscaler(name string, least, most int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: v1.GroupVersion.String(), Kind: v1.Kind, Name: name},
			MinReplicas:    &least,
			MaxReplicas:    most,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](50)}},
			}},
		},
	}
}

// awaitScaled waits until the autoscaler has scaled the PodManager to this many replicas, and reports that it is able to scale.
func (s *space) awaitScaled(name string, replicas int) {
	s.T.Helper()
	s.AwaitFor(2*harness.Patience, fmt.Sprintf("the autoscaler to want %d replicas", replicas), func() (any, bool) {
		hpa, err := s.Cluster.Kube.AutoscalingV2().HorizontalPodAutoscalers(s.Name).Get(s.Ctx, name, metav1.GetOptions{})
		if err != nil {
			s.T.Fatal(err)
		}
		able := false
		for _, condition := range hpa.Status.Conditions {
			able = able || condition.Type == autoscalingv2.AbleToScale && condition.Status == corev1.ConditionTrue
		}
		return fmt.Sprintf("%+v", hpa.Status), able && int(hpa.Status.DesiredReplicas) == replicas && s.Manager(name).DesiredReplicas() == replicas
	})
	s.awaitReady(name, replicas)
}
