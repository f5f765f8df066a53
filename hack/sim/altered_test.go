package sim

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// admitPods lets admission change each pod that is created or updated, until the returned function is called.
func (c *Cluster) admitPods(change func(operation apiserver.Operation, old, pod metav1.Object)) (end func()) {
	isOver := false
	c.server.Admit(func(_ context.Context, review *apiserver.Review) error {
		if pod, isPod := review.Object.(*corev1.Pod); isPod && !isOver && review.Request.Subresource == "" {
			change(review.Operation, review.Old, pod)
		}
		return nil
	})
	return func() { isOver = true }
}

// writeBeforeDeletions writes each pod once while its deletion is being admitted, as the scheduler may.
func (c *Cluster) writeBeforeDeletions() {
	c.server.Admit(func(ctx context.Context, review *apiserver.Review) error {
		pod, isPod := review.Old.(*corev1.Pod)
		if review.Operation != apiserver.Delete || !isPod || pod.Annotations["written"] != "" {
			return nil
		}
		written := []byte(`{"metadata":{"annotations":{"written":"true"}}}`)
		_, err := c.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, written, metav1.PatchOptions{})
		return err
	})
}

// A policy removes from new pods what the PodManager knows them by. The controller notices that it would not find them again, deletes them, backs off
// and reports the policy. Once the policy is gone, the PodManager becomes Ready.
func TestAdmissionAltersNewPods(t *testing.T) {
	for name, alter := range map[string]func(pod metav1.Object){
		"label podmanager": func(pod metav1.Object) { delete(pod.GetLabels(), v1.LabelManager) },
		"label revision":   func(pod metav1.Object) { delete(pod.GetLabels(), v1.LabelRevision) },
		"owner":            func(pod metav1.Object) { pod.SetOwnerReferences(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(t *testing.T, c *Cluster) {
				created := 0
				end := c.admitPods(func(operation apiserver.Operation, _, pod metav1.Object) {
					if operation == apiserver.Create {
						created++
						alter(pod)
					}
				})
				c.writeBeforeDeletions()
				c.apply(t, "team-a", "web", 3, nil)
				c.await(t, "team-a", "web", isRefused)
				pause(c.ctx, 5*time.Minute)
				list, err := c.kube.CoreV1().Pods("team-a").List(c.ctx, metav1.ListOptions{})
				if err != nil || created > 40 || len(list.Items) > 0 {
					t.Errorf("%d pods were created within five minutes, and %d are left, want a backoff: %v", created, len(list.Items), err)
				}
				end()
				c.await(t, "team-a", "web", isReady)
			})
		})
	}
}

func isRefused(m *v1.PodManager) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionReplicaFailure)
}

// A policy removes the owner from a pod that the PodManager adopts. The adoption is refused, and not repeated all the time.
func TestAdmissionAltersAdoptedPods(t *testing.T) {
	inCluster(t, func(t *testing.T, c *Cluster) {
		c.apply(t, "team-a", "web", 3, nil)
		c.await(t, "team-a", "web", isReady)
		adoptions := 0
		end := c.admitPods(func(operation apiserver.Operation, old, pod metav1.Object) {
			if operation == apiserver.Update && len(old.GetOwnerReferences()) == 0 && len(pod.GetOwnerReferences()) > 0 {
				adoptions++
				pod.SetOwnerReferences(nil)
			}
		})
		orphan := []byte(`{"metadata":{"ownerReferences":null}}`)
		if _, err := c.kube.CoreV1().Pods("team-a").Patch(c.ctx, "web-0", types.MergePatchType, orphan, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		c.await(t, "team-a", "web", isRefused)
		pause(c.ctx, 5*time.Minute)
		if adoptions > 15 {
			t.Errorf("%d adoptions were tried within five minutes, want a backoff", adoptions)
		}
		end()
		c.await(t, "team-a", "web", isReady)
	})
}

// A policy brings the revision label back that a pod had before its update in place. The update is refused, and not repeated all the time.
func TestAdmissionAltersUpdatedPods(t *testing.T) {
	inCluster(t, func(t *testing.T, c *Cluster) {
		inPlace := func(image string) func(*v1.PodManager) {
			return func(m *v1.PodManager) {
				m.Spec.Image = image
				m.Spec.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{
					PodUpdatePolicy: v1.InPlaceOnly, MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(1)),
				}
			}
		}
		c.apply(t, "team-a", "web", 3, inPlace("app:1"))
		c.await(t, "team-a", "web", isReady)
		patches := 0
		c.admitPods(func(operation apiserver.Operation, old, pod metav1.Object) {
			if operation == apiserver.Update && old.GetLabels()[v1.LabelRevision] != pod.GetLabels()[v1.LabelRevision] {
				patches++
				pod.GetLabels()[v1.LabelRevision] = old.GetLabels()[v1.LabelRevision]
			}
		})
		c.apply(t, "team-a", "web", 3, inPlace("app:2"))
		pause(c.ctx, 3*time.Minute)
		if patches == 0 || patches > 6 {
			t.Errorf("%d patches within three minutes, want a few", patches)
		}
		manager, err := c.managers.AppsV1().PodManagers("team-a").Get(c.ctx, "web", metav1.GetOptions{})
		if err != nil || !meta.IsStatusConditionTrue(manager.Status.Conditions, v1.ConditionStalled) {
			t.Errorf("the status does not report the policy: %+v, %v", manager.Status.Conditions, err)
		}
	})
}
