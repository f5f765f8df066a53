package sim

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Another client keeps writing to the PodManager. The user's scaling is carried out nevertheless.
func TestScaleAmidWritesOfOthers(t *testing.T) {
	inCluster(t, func(t *testing.T, c *Cluster) {
		c.apply(t, "team-a", "web", 2, nil)
		c.await(t, "team-a", "web", isReady)
		client := c.managers.AppsV1().PodManagers("team-a")
		for i := range 150 {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"stamp":"%d"}}}`, i)
			if i == 100 {
				patch = `{"spec":{"replicas":5}}`
			}
			if _, err := client.Patch(c.ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			pause(c.ctx, 20*time.Millisecond)
		}
		list, err := c.kube.CoreV1().Pods("team-a").List(c.ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 5 {
			t.Errorf("%d pods 1 s after the scaling, want 5: %v", len(list.Items), err)
		}
	})
}
