//go:build e2e

package core

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A backup tool such as Velero restores pods first, without owners and status, then ControllerRevisions, and the PodManager last. The controller
// adopts the pods and revisions. It creates and restarts no pod, and begins no rollout, even if a canary was under way.
func TestRestoredFromBackup(t *testing.T) {
	t.Parallel()
	t.Run("at rest", func(t *testing.T) {
		s := newSpace(t)
		s.apply("web", partitioned(5, v1.RecreatePods, "0", "app:1"))
		s.awaitReady("web", 5)
		s.restoreFromBackup(func() { s.awaitReady("web", 5) })
	})
	t.Run("with a canary", func(t *testing.T) {
		s := newSpace(t)
		s.apply("web", partitioned(5, v1.InPlaceIfPossible, "0", "app:1"))
		s.awaitReady("web", 5)
		s.apply("web", partitioned(5, v1.InPlaceIfPossible, "3", "app:2"))
		s.awaitPartition("app:1", 3, "app:2", 2)
		s.restoreFromBackup(func() { s.awaitPartition("app:1", 3, "app:2", 2) })
	})
}

// bare returns what a backup restores of the metadata.
func bare(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels, Annotations: meta.Annotations}
}

// restoreFromBackup deletes web with all its objects, and restores them. Afterwards the state has to be as before.
func (s *space) restoreFromBackup(awaitState func()) {
	s.T.Helper()
	manager, pods, revisions := s.Manager("web"), s.Pods(), s.revisions("web")
	s.Kubectl("delete", "pm", "web", "--wait")
	s.Await("all objects to be gone", func() (any, bool) {
		return podNames(s.AllPods()), len(s.AllPods())+len(s.revisions("web")) == 0
	})
	create := func(err error) {
		s.T.Helper()
		if err != nil && !apierrors.IsAlreadyExists(err) {
			s.T.Fatal(err)
		}
	}
	for i := range pods {
		pod := &corev1.Pod{ObjectMeta: bare(pods[i].ObjectMeta), Spec: pods[i].Spec}
		pod.Spec.NodeName = ""
		_, err := shared.kube.CoreV1().Pods(s.Name).Create(s.Ctx, pod, metav1.CreateOptions{})
		create(err)
	}
	restored := uids(s.Pods())
	for i := range revisions {
		revision := revisions[i].DeepCopy()
		revision.ObjectMeta = bare(revision.ObjectMeta)
		_, err := shared.kube.AppsV1().ControllerRevisions(s.Name).Create(s.Ctx, revision, metav1.CreateOptions{})
		create(err)
	}
	_, err := s.managers().Create(context.Background(), &v1.PodManager{ObjectMeta: bare(manager.ObjectMeta), Spec: manager.Spec}, metav1.CreateOptions{})
	create(err)
	awaitState()
	now := s.AllPods()
	if got := uids(now); !maps.Equal(got, restored) {
		s.T.Errorf("the pods are not those that were restored: %v, now %v", restored, got)
	}
	after := s.Manager("web")
	for i := range now {
		if !metav1.IsControlledBy(&now[i], after) || now[i].Status.ContainerStatuses[0].RestartCount > 0 {
			s.T.Errorf("%s has the owners %v and %v", now[i].Name, now[i].OwnerReferences, now[i].Status.ContainerStatuses)
		}
	}
	if got, want := after.Status, manager.Status; got.CurrentRevision != want.CurrentRevision || got.UpdateRevision != want.UpdateRevision {
		s.T.Errorf("revisions %s and %s, want %s and %s", got.CurrentRevision, got.UpdateRevision, want.CurrentRevision, want.UpdateRevision)
	}
	if got := s.revisions("web"); len(got) != len(revisions) {
		s.T.Errorf("%d revisions, want %d", len(got), len(revisions))
	}
}
