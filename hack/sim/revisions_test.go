package sim

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// onlyRevision returns the only ControllerRevision in team-a.
func (c *Cluster) onlyRevision(t *testing.T) *appsv1.ControllerRevision {
	t.Helper()
	list, err := c.kube.AppsV1().ControllerRevisions("team-a").List(c.ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d revisions, error %v, want one", len(list.Items), err)
	}
	return &list.Items[0]
}

// podsOf returns the UIDs of the pods in team-a that are not being deleted.
func (c *Cluster) podsOf(t *testing.T) (uids []types.UID) {
	t.Helper()
	list, err := c.kube.CoreV1().Pods("team-a").List(c.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			uids = append(uids, pod.UID)
		}
	}
	slices.Sort(uids)
	return uids
}

// A user removes or changes a label of the revision of a healthy PodManager. The controller restores the label, and leaves the pods alone.
func TestRevisionRelabelled(t *testing.T) {
	for _, label := range []string{v1.LabelRevision, v1.LabelManager} {
		for _, value := range []string{"", "other"} {
			t.Run(label+"="+value, func(t *testing.T) {
				inCluster(t, func(t *testing.T, c *Cluster) { testRelabelled(t, c, label, value) })
			})
		}
	}
}

func testRelabelled(t *testing.T, c *Cluster, label, value string) {
	t.Helper()
	c.apply(t, "team-a", "web", 3, nil)
	c.await(t, "team-a", "web", isReady)
	pause(c.ctx, time.Minute)
	pods, before, relabelled := c.podsOf(t), c.onlyRevision(t), c.onlyRevision(t)
	writes := map[string]int{}
	c.server.Admit(func(_ context.Context, review *apiserver.Review) error {
		if isReplica(review.Request) && (review.Request.Resource.Name == "pods" || review.Request.Resource.Name == "controllerrevisions") {
			writes[string(review.Operation)+" "+review.Request.Resource.Name]++
		}
		return nil
	})
	if relabelled.Labels[label] = value; value == "" {
		delete(relabelled.Labels, label)
	}
	if _, err := c.kube.AppsV1().ControllerRevisions("team-a").Update(c.ctx, relabelled, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	pause(c.ctx, 2*time.Minute)
	if after := c.onlyRevision(t); after.Labels[label] != before.Labels[label] || after.Name != before.Name {
		t.Errorf("%s has the labels %v, want %v", after.Name, after.Labels, before.Labels)
	}
	if after := c.podsOf(t); !slices.Equal(after, pods) {
		t.Errorf("the pods are %v, want %v", after, pods)
	}
	for what, count := range writes {
		if count > 1 {
			t.Errorf("%d times %s", count, what)
		}
	}
}

// A policy refuses all updates of revisions, among them adoptions. The controller nevertheless replaces dead pods, scales and rolls out.
func TestRevisionsFrozen(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, c *Cluster){
		"a cause": func(t *testing.T, c *Cluster) {
			c.apply(t, "team-a", "web", 3, func(m *v1.PodManager) { m.Annotations = map[string]string{v1.AnnotationChangeCause: "ticket 7"} })
		},
		"an orphan": func(t *testing.T, c *Cluster) {
			orphan := c.onlyRevision(t).DeepCopy()
			orphan.ObjectMeta = metav1.ObjectMeta{Name: "stray", Labels: map[string]string{v1.LabelManager: "web"}}
			if _, err := c.kube.AppsV1().ControllerRevisions("team-a").Create(c.ctx, orphan, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(t *testing.T, c *Cluster) {
				c.refuseRevisions(apiserver.Update)
				c.apply(t, "team-a", "web", 3, nil)
				c.await(t, "team-a", "web", isReady)
				pause(c.ctx, time.Minute)
				change(t, c)
				pause(c.ctx, 10*time.Second)
				for _, pod := range []string{"web-0", "web-1"} {
					if err := c.kube.CoreV1().Pods("team-a").Delete(c.ctx, pod, metav1.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				c.apply(t, "team-a", "web", 5, nil)
				pause(c.ctx, time.Minute)
				if pods := c.podsOf(t); len(pods) != 5 {
					t.Errorf("%d pods run, want 5", len(pods))
				}
				c.apply(t, "team-a", "web", 5, func(m *v1.PodManager) { m.Spec.Image = "app:2" })
				pause(c.ctx, 3*time.Minute)
				manager, err := c.managers.AppsV1().PodManagers("team-a").Get(c.ctx, "web", metav1.GetOptions{})
				if err != nil || manager.Status.UpdatedReplicas != 5 {
					t.Errorf("%d pods are updated, want 5; error %v", manager.Status.UpdatedReplicas, err)
				}
			})
		})
	}
}

// refuseRevisions refuses one operation of the controller on ControllerRevisions, as a policy does by default.
func (c *Cluster) refuseRevisions(operation apiserver.Operation) {
	c.server.Admit(func(_ context.Context, review *apiserver.Review) error {
		if isReplica(review.Request) && review.Request.Resource.Name == "controllerrevisions" && review.Operation == operation {
			return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("revisions are immutable here"))
		}
		return nil
	})
}

// A policy refuses to store revisions. A PodManager gets its pods nevertheless, is scaled, and its dead pods are replaced. A changed template does not
// touch the pods, but surplus ones are still deleted.
func TestRevisionRefused(t *testing.T) {
	inCluster(t, func(t *testing.T, c *Cluster) {
		c.refuseRevisions(apiserver.Create)
		c.apply(t, "team-a", "web", 3, nil)
		for _, step := range []struct {
			replicas int32
			image    string
		}{{3, "app:1"}, {5, "app:1"}, {5, "app:2"}, {2, "app:2"}, {0, "app:2"}} {
			before := c.podsOf(t)
			c.apply(t, "team-a", "web", step.replicas, func(m *v1.PodManager) { m.Spec.Image = step.image })
			pause(c.ctx, 2*time.Minute)
			pods := c.podsOf(t)
			if len(pods) != int(step.replicas) {
				t.Errorf("%d pods run, want %d", len(pods), step.replicas)
			}
			isNew := func(pod types.UID) bool { return !slices.Contains(before, pod) }
			if step.image == "app:2" && slices.ContainsFunc(pods, isNew) {
				t.Errorf("the pods are %v, some are not among %v", pods, before)
			}
		}
	})
}
