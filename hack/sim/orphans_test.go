package sim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A user deletes a PodManager and orphans its pods. The controller, whose finalizer is on the PodManager, sees the deletion only after the garbage
// collector has released the pods. The controller has not seen the release: in its cache the pods still have their owner. It must not delete them.
func TestOrphansApart(t *testing.T) {
	inCluster(t, func(t *testing.T, c *Cluster) {
		c.apply(t, "team-a", "web", 4, func(m *v1.PodManager) { m.Spec.ScaleDown = &v1.ScaleDown{MaxTerminating: ptr.To(intstr.FromInt32(2))} })
		c.await(t, "team-a", "web", isReady)
		resumeManagers, resumePods := c.pauseWatch("podmanagers"), c.pauseWatch("pods")
		client := c.managers.AppsV1().PodManagers("team-a")
		if err := client.Delete(c.ctx, "web", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationOrphan)}); err != nil {
			t.Fatal(err)
		}
		pause(c.ctx, 8*time.Second)
		resumeManagers()
		pause(c.ctx, time.Minute)
		if _, err := client.Get(c.ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the PodManager is not gone: %v", err)
		}
		resumePods()
		pause(c.ctx, time.Minute)
		list, err := c.kube.CoreV1().Pods("team-a").List(c.ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		orphans := 0
		for _, pod := range list.Items {
			if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && len(pod.OwnerReferences) == 0 {
				orphans++
			}
		}
		if orphans != 4 {
			t.Errorf("%d orphans are left of 4", orphans)
		}
	})
}
