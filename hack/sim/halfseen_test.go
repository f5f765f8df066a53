package sim

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Foreign pods have the names web-2 to web-4, so a scale-up to 5 pods creates web-5 to web-7. Before the controller sees the new pods, the foreign
// pods are deleted, and the watch of pods stalls. The controller must not create the pods a second time: with the names that are free now, the
// creates would succeed, and there would be too many pods.
func TestHalfSeenScaleUp(t *testing.T) {
	inCluster(t, func(t *testing.T, c *Cluster) {
		pods := c.kube.CoreV1().Pods("team-a")
		c.server.Admit(func(ctx context.Context, review *apiserver.Review) error {
			if isReplica(review.Request) && review.Request.Resource.Name == "pods" && review.Operation == apiserver.Create {
				pause(ctx, 2*time.Second)
			}
			return nil
		})
		c.apply(t, "team-a", "web", 2, nil)
		c.await(t, "team-a", "web", isReady)
		web, err := c.managers.AppsV1().PodManagers("team-a").Get(c.ctx, "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := 2; i < 5; i++ {
			stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Labels: map[string]string{v1.LabelManager: "web"}}}
			stranger.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "other", UID: "other", Controller: ptr.To(true)},
				// The simulated garbage collector does not know ReplicaSets. This owner keeps it from deleting the pod.
				{APIVersion: v1.GroupVersion.String(), Kind: v1.Kind, Name: "web", UID: web.UID},
			}
			stranger.Spec.Containers = []corev1.Container{{Name: "app", Image: "other:1"}}
			if _, err := pods.Create(c.ctx, stranger, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		pause(c.ctx, 5*time.Second)
		c.apply(t, "team-a", "web", 5, nil)
		pause(c.ctx, time.Second) // the creates are in flight
		for i := 2; i < 5; i++ {
			if err := pods.Delete(c.ctx, fmt.Sprint("web-", i), *metav1.NewDeleteOptions(0)); err != nil {
				t.Fatal(err)
			}
		}
		pause(c.ctx, 500*time.Millisecond)
		resume := c.pauseWatch("pods")
		pause(c.ctx, 6*time.Second)
		c.apply(t, "team-a", "web", 5, func(m *v1.PodManager) { m.Spec.RevisionHistoryLimit = ptr.To[int32](3) })
		pause(c.ctx, 6*time.Second)
		list, err := pods.List(c.ctx, metav1.ListOptions{LabelSelector: v1.LabelManager + "=web"})
		if err != nil || len(list.Items) != 5 {
			t.Errorf("%d pods, want 5: %v", len(list.Items), err)
		}
		resume()
		c.await(t, "team-a", "web", isReady)
	})
}
