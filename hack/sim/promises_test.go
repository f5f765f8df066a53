package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/world/nodes"
)

// inCluster runs a test in a cluster with one replica of the controller and no faults. Violations that the judge finds are ignored.
func inCluster(t *testing.T, test func(t *testing.T, c *Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(1, crd, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.createNamespaces(); err != nil {
			t.Fatal(err)
		}
		c.kubelets.calm()
		c.settings = settings{replicas: 1}
		c.supervise(0)
		test(t, c)
		if t.Failed() {
			t.Log(strings.Join(c.story.lines(), "\n"))
		}
	})
}

// apply creates or edits a PodManager with the given number of replicas.
func (c *Cluster) apply(t *testing.T, namespace, name string, replicas int32, edit func(*v1.PodManager)) {
	t.Helper()
	client := c.managers.AppsV1().PodManagers(namespace)
	manager, err := client.Get(c.ctx, name, metav1.GetOptions{})
	isNew := err != nil
	if isNew {
		manager = &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodManagerSpec{Image: "app:1"}}
	}
	manager.Spec.Replicas = &replicas
	if edit != nil {
		edit(manager)
	}
	if isNew {
		_, err = client.Create(c.ctx, manager, metav1.CreateOptions{})
	} else {
		_, err = client.Update(c.ctx, manager, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// await waits until the PodManager satisfies a condition, and returns how long that took.
func (c *Cluster) await(t *testing.T, namespace, name string, what func(*v1.PodManager) bool) time.Duration {
	t.Helper()
	began := time.Now()
	for pause(c.ctx, 100*time.Millisecond) {
		manager, err := c.managers.AppsV1().PodManagers(namespace).Get(c.ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if what(manager) {
			return time.Since(began)
		}
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("the condition is not met within 10 minutes, the status is %+v", manager.Status)
		}
	}
	return 0
}

func isReady(m *v1.PodManager) bool {
	return m.Status.ObservedGeneration == m.Generation && meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionReady)
}

// pauseWatch holds back the controller's events of a resource until resume is called.
func (c *Cluster) pauseWatch(resource string) (resume func()) {
	line := c.replica(0).line
	line.mu.Lock()
	defer line.mu.Unlock()
	var paused []*apiserver.Stream
	for _, stream := range line.streams {
		if stream.Request().Resource.Name == resource {
			stream.Pause()
			paused = append(paused, stream)
		}
	}
	return func() {
		for _, stream := range paused {
			stream.Resume()
		}
	}
}

// A webhook that takes 10 s in one namespace, with more PodManagers than there are workers, does not delay another namespace.
func TestSlowWebhookHoldsUpItsNamespaceOnly(t *testing.T) {
	inCluster(t, func(t *testing.T, c *Cluster) {
		c.server.Admit(func(ctx context.Context, review *apiserver.Review) error {
			if review.Request.Namespace == "team-a" && review.Request.Resource.Name == "pods" && review.Operation == apiserver.Create {
				pause(ctx, 10*time.Second)
			}
			return nil
		})
		for i := range 150 {
			c.apply(t, "team-a", fmt.Sprint("slow-", i), 2, nil)
		}
		pause(c.ctx, time.Second)
		c.apply(t, "team-b", "web", 3, nil)
		if took := c.await(t, "team-b", "web", isReady); took > 10*time.Second {
			t.Errorf("ready after %v", took)
		}
		c.apply(t, "team-b", "web", 1, nil)
		if took := c.await(t, "team-b", "web", isReady); took > 5*time.Second {
			t.Errorf("scaled down after %v", took)
		}
		for i := range 150 {
			c.await(t, "team-a", fmt.Sprint("slow-", i), isReady)
		}
	})
}

// While the watch of pods is stalled, a rollout does not take down the last ready pod although the cache still shows the others as ready.
func TestRolloutBesideAStalledWatch(t *testing.T) {
	inCluster(t, func(t *testing.T, c *Cluster) {
		c.apply(t, "team-a", "web", 3, func(m *v1.PodManager) {
			m.Spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{MaxUnavailable: ptr.To(intstr.FromInt32(1)), MaxSurge: ptr.To(intstr.FromInt32(0))}
		})
		c.await(t, "team-a", "web", isReady)
		pause(c.ctx, time.Minute)
		resume := c.pauseWatch("pods")
		defer resume()
		list, err := c.kube.CoreV1().Pods("team-a").List(c.ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range list.Items[:2] {
			for i, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady {
					pod.Status.Conditions[i].Status = corev1.ConditionFalse
				}
			}
			if _, err := c.kube.CoreV1().Pods("team-a").UpdateStatus(c.ctx, &pod, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		pause(c.ctx, 10*time.Second)
		last := list.Items[2]
		c.apply(t, "team-a", "web", 3, func(m *v1.PodManager) { m.Spec.Image = "app:2" })
		pause(c.ctx, 5*time.Second)
		present, err := c.kube.CoreV1().Pods("team-a").Get(c.ctx, last.Name, metav1.GetOptions{})
		if err != nil || present.UID != last.UID || present.DeletionTimestamp != nil || !nodes.IsReady(present) {
			t.Errorf("the only pod that was ready was taken down: %v", err)
		}
	})
}

// A live read of pods gets a newer version than the cache, which no event reaches while no pod changes. The controller must not wait until the cache
// has that version: it observes every later edit within 2 s.
func TestEditAfterALiveRead(t *testing.T) {
	inCluster(t, func(t *testing.T, c *Cluster) {
		c.apply(t, "team-a", "web", 2, nil)
		c.await(t, "team-a", "web", isReady)
		resume := c.pauseWatch("pods")
		c.apply(t, "team-a", "web", 3, nil)
		pause(c.ctx, 14*time.Second) // the controller does a live read in the meantime
		for i := range 20 {          // other clients write, and the version of the cluster goes up
			if err := c.server.CreateNamespace(fmt.Sprint("other-", i)); err != nil {
				t.Fatal(err)
			}
		}
		pause(c.ctx, 2*time.Second)
		resume()
		c.await(t, "team-a", "web", isReady)
		for i := range 5 {
			c.apply(t, "team-a", "web", int32(i+1), nil)
			if took := c.await(t, "team-a", "web", func(m *v1.PodManager) bool { return m.Status.ObservedGeneration == m.Generation }); took > 2*time.Second {
				t.Errorf("edit %d was observed after %v", i, took)
			}
			pause(c.ctx, 3*time.Second)
		}
	})
}
