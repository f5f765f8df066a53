package sim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// Every pod fails as soon as it is ready. The first replacement is created at once, the next ones after 10 and 20 s: 12 pods in a minute.
func TestFailingPodsAreNotReplacedAgainAndAgain(t *testing.T) {
	const most = 20
	inCluster(t, func(t *testing.T, c *Cluster) {
		c.apply(t, "team-a", "web", 3, nil)
		seen := map[types.UID]bool{}
		for range 300 {
			pause(c.ctx, 200*time.Millisecond)
			list, err := c.kube.CoreV1().Pods("team-a").List(c.ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, pod := range list.Items {
				seen[pod.UID] = true
				if isActive(&pod) && nodes.IsReady(&pod) {
					c.kubelets.fail(&pod)
				}
			}
		}
		if len(seen) < 6 || len(seen) > most {
			t.Errorf("%d pods in a minute, want 6 to %d", len(seen), most)
		}
	})
}

// fail makes a pod fail permanently.
func (k *kubelets) fail(pod *corev1.Pod) {
	k.mu.Lock()
	runner := k.pods[pod.UID]
	k.mu.Unlock()
	if runner.do(func() bool {
		k.nodes.Finish(pod)
		return true
	}) {
		runner.writeStatus(pod)
	}
}
