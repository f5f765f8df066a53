//go:build e2e

package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestDelete(t *testing.T) {
	t.Parallel()
	for _, cascade := range []string{"background", "foreground"} {
		t.Run(cascade, func(t *testing.T) {
			s := newSpace(t)
			s.apply("web", "{replicas: 3, image: nginx}")
			s.apply("other", "{replicas: 2, image: nginx}")
			s.awaitReady("web", 3)
			s.awaitReady("other", 2)
			before := uids(s.Pods())
			s.Kubectl("delete", "pm", "web", "--cascade="+cascade, "--timeout=3m")
			s.Await("the pods of web to be gone, and no others", func() (any, bool) {
				left := podNames(s.AllPods())
				return left, slices.Equal(left, []string{"other-0", "other-1"})
			})
			if after := uids(s.Pods()); after["other-0"] != before["other-0"] || after["other-1"] != before["other-1"] {
				t.Error("pods of another PodManager were touched")
			}
		})
	}
}

// A PodManager of the same name adopts the pods and revisions that --cascade=orphan leaves behind.
func TestDeleteOrphan(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 3, image: 'nginx:1'}")
	s.awaitReady("web", 3)
	s.apply("web", "{replicas: 3, image: 'nginx:2'}")
	s.awaitReady("web", 3)
	before := uids(s.Pods())
	s.Kubectl("delete", "pm", "web", "--cascade=orphan", "--timeout=3m")
	for _, pod := range s.Pods() {
		if pod.UID != before[pod.Name] || len(pod.OwnerReferences) != 0 {
			t.Errorf("%s: uid %s, owners %v", pod.Name, pod.UID, pod.OwnerReferences)
		}
	}
	if got := len(s.Pods()); got != 3 {
		t.Fatalf("%d pods are left, want 3", got)
	}
	s.awaitRevisions("web", 1, 2)

	// The pods of the second PodManager's own template fail, so the controller rolls back to the template of the adopted pods.
	s.apply("web", fmt.Sprintf("{replicas: 3, failurePolicy: {onFailure: Rollback, gracePeriodSeconds: 1}, image: '%s'}", missing))
	s.Await("the namesake to roll back", func() (any, bool) {
		manager := s.Manager("web")
		return harness.Brief(manager), manager.Status.FailedRevision != "" && byImage(s.Pods())["nginx:2"] == 3 && len(s.Pods()) == 3
	})
	manager := s.Manager("web")
	for _, pod := range s.Pods() {
		if !metav1.IsControlledBy(&pod, manager) || pod.Labels[v1.LabelManagerUID] != string(manager.UID) {
			t.Errorf("%s was not adopted: owners %v, labels %v", pod.Name, pod.OwnerReferences, pod.Labels)
		}
	}
	s.awaitRevisions("web", 1, 2, 3)
	for _, revision := range s.revisions("web") {
		if !metav1.IsControlledBy(&revision, manager) {
			t.Errorf("revision %s was not adopted: owners %v", revision.Name, revision.OwnerReferences)
		}
	}
}

func TestDeleteWhileCreating(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 200, image: nginx}")
	s.Await("the first pods", func() (any, bool) { n := len(s.AllPods()); return n, n > 5 })
	s.Kubectl("delete", "pm", "web", "--timeout=3m")
	s.Await("the pods to be gone", func() (any, bool) { left := podNames(s.AllPods()); return left, len(left) == 0 })
}

func TestDeleteNamespace(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 30, image: nginx}")
	s.apply("db", "{replicas: 3, image: nginx}")
	s.Await("the first pods", func() (any, bool) { n := len(s.AllPods()); return n, n > 5 })
	s.Kubectl("delete", "namespace", s.Name, "--wait=false")
	s.AwaitFor(2*harness.Patience, "the namespace to be gone", func() (any, bool) {
		namespace, err := shared.kube.CoreV1().Namespaces().Get(s.Ctx, s.Name, metav1.GetOptions{})
		return namespace.Status, apierrors.IsNotFound(err)
	})
}

// If maxTerminating limits deletions, a pod with a finalizer keeps the PodManager until the pod is gone, and the status reports what is left.
func TestDeleteWaitsForPods(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, scaleDown: {maxTerminating: 2}, template: {metadata: {finalizers: [example.com/hold]}, spec: {containers: [{name: a, image: a}]}}}")
	s.awaitReady("web", 2)
	s.Kubectl("delete", "pm", "web", "--wait=false")
	s.Await("the status to report the remaining pods", func() (any, bool) {
		manager := s.Manager("web")
		ready := s.Condition("web", v1.ConditionReady)
		return harness.Brief(manager), ready.Reason == v1.ReasonTerminating && ready.Message == "being deleted, 2 pods left" &&
			manager.Status.TerminatingReplicas == 2
	})
	s.Kubectl("patch", "pods", "web-0", "web-1", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	s.Await("the PodManager to be gone", func() (any, bool) {
		_, err := shared.managers.AppsV1().PodManagers(s.Name).Get(s.Ctx, "web", metav1.GetOptions{})
		return err, apierrors.IsNotFound(err)
	})
}

// Without maxTerminating, a deletion needs no controller. The controller removes a finalizer that is no longer needed.
func TestDeleteWithoutController(t *testing.T) {
	s := newSpace(t)
	controller := s.private()
	s.applyPrivate("web", "{replicas: 2, image: nginx, scaleDown: {maxTerminating: 1}}")
	s.awaitReady("web", 2)
	if got := s.Manager("web").Finalizers; !slices.Equal(got, []string{v1.Finalizer}) {
		t.Errorf("the finalizers are %v, but maxTerminating needs the controller's finalizer", got)
	}
	s.applyPrivate("web", "{replicas: 2, image: nginx}")
	s.Await("the finalizer to be removed", func() (any, bool) {
		got := s.Manager("web").Finalizers
		return got, len(got) == 0
	})
	kill(t, controller)
	s.Kubectl("delete", "pm", "web", "--timeout=3m")
	s.Await("the pods to be gone", func() (any, bool) { left := podNames(s.AllPods()); return left, len(left) == 0 })
}

// A PodManager that is created right after the deletion of another of the same name uses the next free indices, and does not warn about terminating
// pods.
func TestNamesakeAfterDeletion(t *testing.T) {
	s := newSpace(t)
	held := "{replicas: 2, template: {metadata: {finalizers: [example.com/hold]}, spec: {containers: [{name: a, image: a}]}}}"
	s.apply("web", held)
	s.awaitReady("web", 2)
	s.Kubectl("delete", "pm", "web", "--timeout=3m")
	s.apply("web", "{replicas: 2, image: nginx}")
	manager := s.awaitReady("web", 2)
	if want := []string{"web-2", "web-3"}; !slices.Equal(manager.Status.PodNames, want) {
		t.Errorf("pods %v, want %v", manager.Status.PodNames, want)
	}
	if message := s.Condition("web", v1.ConditionReady).Message; message != "2 of 2 pods available" {
		t.Errorf("Ready says %q", message)
	}
	if events := s.Kubectl("get", "events"); strings.Contains(events, v1.EventNameTaken) {
		t.Errorf("warned about pods of the predecessor:\n%s", events)
	}
	s.Kubectl("patch", "pods", "web-0", "web-1", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}
