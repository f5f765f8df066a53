//go:build e2e

package e2e

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestDelete(t *testing.T) {
	for _, cascade := range []string{"background", "foreground"} {
		t.Run(cascade, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", "{replicas: 3, image: nginx}")
			s.apply("other", "{replicas: 2, image: nginx}")
			s.awaitReady("web", 3)
			s.awaitReady("other", 2)
			before := uids(s.pods())
			s.kubectl("delete", "pm", "web", "--cascade="+cascade, "--timeout=30s")
			// kubectl returns when the PodManager is gone; by then its pods must be, too.
			if got, want := podNames(s.allPods()), []string{"other-0", "other-1"}; !slices.Equal(got, want) {
				t.Errorf("pods %v are left, want %v", got, want)
			}
			if after := uids(s.pods()); after["other-0"] != before["other-0"] || after["other-1"] != before["other-1"] {
				t.Error("pods of another PodManager were touched")
			}
		})
	}
}

func TestDeleteOrphan(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 3, image: nginx}")
	s.awaitReady("web", 3)
	before := uids(s.pods())
	s.kubectl("delete", "pm", "web", "--cascade=orphan", "--timeout=30s")
	for _, pod := range s.pods() {
		if pod.UID != before[pod.Name] || len(pod.OwnerReferences) != 0 {
			t.Errorf("%s: uid %s, owners %v", pod.Name, pod.UID, pod.OwnerReferences)
		}
	}
	if got := len(s.pods()); got != 3 {
		t.Fatalf("%d pods are left, want 3", got)
	}

	// A new PodManager of the same name takes them over.
	s.apply("web", "{replicas: 3, image: nginx}")
	manager := s.awaitReady("web", 3)
	for _, pod := range s.pods() {
		if pod.UID != before[pod.Name] || !metav1.IsControlledBy(&pod, manager) || pod.Labels[v1.LabelManagerUID] != string(manager.UID) {
			t.Errorf("%s was not adopted: uid %s, owners %v, labels %v", pod.Name, pod.UID, pod.OwnerReferences, pod.Labels)
		}
	}
}

func TestDeleteWhileCreating(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 200, image: nginx}")
	s.await("the first pods", func() (any, bool) { n := len(s.allPods()); return n, n > 5 })
	s.kubectl("delete", "pm", "web", "--timeout=60s")
	if left := podNames(s.allPods()); len(left) != 0 {
		t.Errorf("pods are left: %v", left)
	}
}

func TestDeleteNamespace(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 30, image: nginx}")
	s.apply("db", "{replicas: 3, image: nginx}")
	s.await("the first pods", func() (any, bool) { n := len(s.allPods()); return n, n > 5 })
	s.kubectl("delete", "namespace", s.name, "--wait=false")
	s.awaitFor(2*patience, "the namespace to be gone", func() (any, bool) {
		namespace, err := shared.kube.CoreV1().Namespaces().Get(s.ctx, s.name, metav1.GetOptions{})
		return namespace.Status, apierrors.IsNotFound(err)
	})
}

// A pod that holds a finalizer keeps the PodManager until it is gone, and the status says what is left.
func TestDeleteWaitsForPods(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, template: {metadata: {finalizers: [example.com/hold]}, spec: {containers: [{name: a, image: a}]}}}")
	s.awaitReady("web", 2)
	s.kubectl("delete", "pm", "web", "--wait=false")
	s.await("the status to tell", func() (any, bool) {
		manager := s.manager("web")
		ready := s.condition("web", v1.ConditionReady)
		return brief(manager), ready.Reason == v1.ReasonTerminating && ready.Message == "being deleted, 2 pods left" &&
			manager.Status.TerminatingReplicas == 2
	})
	s.kubectl("patch", "pods", "web-0", "web-1", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	s.await("the PodManager to be gone", func() (any, bool) {
		_, err := shared.managers.AppsV1().PodManagers(s.name).Get(s.ctx, "web", metav1.GetOptions{})
		return err, apierrors.IsNotFound(err)
	})
}
