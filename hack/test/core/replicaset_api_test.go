//go:build e2e

package core

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/mycompany/podmanager/hack/test/harness"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	typedv1 "github.com/mycompany/podmanager/pkg/generated/clientset/versioned/typed/podmanager/v1"
)

func (s *space) managers() typedv1.PodManagerInterface {
	return shared.managers.AppsV1().PodManagers(s.Name)
}

// patchManager changes a PodManager, or a subresource of it, with a merge patch.
func (s *space) patchManager(name, patch string, subresource ...string) *v1.PodManager {
	s.T.Helper()
	patched, err := s.managers().Patch(s.Ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresource...)
	if err != nil {
		s.T.Fatal(err)
	}
	return patched
}

// The selector is derived from the name. Users cannot change it, or make it select the pods of another PodManager.
func TestNoSelectorToChange(t *testing.T) {
	s := newSpace(t)
	out, err := s.TryKubectl(harness.Manifest("web", "", "{image: nginx, selector: {matchLabels: {a: b}}}"), "apply", "-f", "-")
	if err == nil || !strings.Contains(out, `unknown field "spec.selector"`) {
		t.Errorf("kubectl apply: %v\n%s", err, out)
	}
	s.apply("web", "{replicas: 1, template: {metadata: {labels: {app: shop}}, spec: {containers: [{name: a, image: a}]}}}")
	if got := s.awaitReady("web", 1).Status.Selector; got != "podmanager=web" {
		t.Errorf("the selector is %q", got)
	}
}

// The scale subresource accepts an update without a resourceVersion, and a patch; both change the spec.
func TestScaleUpdateAndPatch(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: nginx}")
	s.awaitReady("web", 1)
	scale, err := s.managers().GetScale(s.Ctx, "web", metav1.GetOptions{})
	if err != nil || scale.Spec.Replicas != 1 || scale.Status.Replicas != 1 {
		t.Fatalf("scale is %+v (%v), want 1", scale, err)
	}
	scale.ResourceVersion = ""
	scale.Spec.Replicas = 2
	if scale, err = s.managers().UpdateScale(s.Ctx, "web", scale, metav1.UpdateOptions{}); err != nil || scale.Spec.Replicas != 2 {
		t.Fatalf("updated to %+v (%v), want 2", scale, err)
	}
	if got := s.Manager("web").DesiredReplicas(); got != 2 {
		t.Errorf("spec.replicas is %d, want 2", got)
	}
	s.Kubectl("patch", "pm", "web", "--subresource=scale", "--type=merge", "-p", `{"spec":{"replicas":4}}`)
	if got := s.Manager("web").DesiredReplicas(); got != 4 {
		t.Errorf("spec.replicas is %d, want 4", got)
	}
	s.awaitReady("web", 4)
	s.Kubectl("patch", "pm", "web", "--subresource=scale", "--type=merge", "-p", `{"spec":{"replicas":0}}`)
	s.awaitReady("web", 0)
}

func TestReplaceAndPatch(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 1, image: 'nginx:1'}")
	s.awaitReady("web", 1)
	replaced := false
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		manager := s.Manager("web")
		manager.Spec.Replicas = new(int32(2))
		_, err := s.managers().Update(s.Ctx, manager, metav1.UpdateOptions{})
		replaced = err == nil
		return err
	})
	if !replaced {
		t.Fatal(err)
	}
	before := s.awaitReady("web", 2)

	patched := s.patchManager("web", `{"metadata":{"labels":{"patched":"yes"}},"spec":{"replicas":3,"image":"nginx:2"}}`)
	if patched.ResourceVersion == before.ResourceVersion || patched.Generation != before.Generation+1 {
		t.Errorf("resourceVersion %s, generation %d after %s, %d", patched.ResourceVersion, patched.Generation, before.ResourceVersion, before.Generation)
	}
	list, err := s.managers().List(s.Ctx, metav1.ListOptions{LabelSelector: "patched=yes"})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d PodManagers have the new label: %v", len(list.Items), err)
	}
	s.awaitReady("web", 3)
	for _, pod := range s.Pods() {
		if got := pod.Spec.Containers[0].Image; got != "nginx:2" {
			t.Errorf("%s runs %s", pod.Name, got)
		}
	}
}

func TestListAndDeleteCollection(t *testing.T) {
	s := newSpace(t)
	for _, name := range []string{"one", "two", "three"} {
		if out, err := s.TryKubectl(harness.Manifest(name, "labels: {group: shop}", "{replicas: 2, image: nginx}"), "apply", "-f", "-"); err != nil {
			t.Fatalf("kubectl apply: %v\n%s", err, out)
		}
	}
	s.apply("other", "{replicas: 1, image: nginx}")
	for _, name := range []string{"one", "two", "three"} {
		s.awaitReady(name, 2)
	}
	s.awaitReady("other", 1)
	before := s.pod("other-0").UID

	shop := metav1.ListOptions{LabelSelector: "group=shop"}
	list, err := s.managers().List(s.Ctx, shop)
	if err != nil || len(list.Items) != 3 {
		t.Fatalf("%d PodManagers in the list (%v), want 3", len(list.Items), err)
	}
	if err := s.managers().DeleteCollection(s.Ctx, metav1.DeleteOptions{}, shop); err != nil {
		t.Fatal(err)
	}
	s.Await("the collection to be gone", func() (any, bool) {
		list, err := s.managers().List(s.Ctx, shop)
		return err, err == nil && len(list.Items) == 0
	})
	s.Await("only the pod of the other PodManager to be left", func() (any, bool) {
		pods := s.AllPods()
		return podNames(pods), len(pods) == 1 && pods[0].UID == before
	})
}

// Users can read and write the status. The controller keeps conditions that users have added, and corrects wrong values.
func TestStatusEndpoints(t *testing.T) {
	s := newSpace(t)
	s.apply("web", "{replicas: 2, image: nginx}")
	generation := s.awaitReady("web", 2).Generation
	if raw := s.Kubectl("get", "--raw", "/apis/apps.mycompany.com/v1/namespaces/"+s.Name+"/podmanagers/web/status"); !strings.Contains(raw, `"readyReplicas":2`) {
		t.Errorf("GET status: %s", raw)
	}
	theirs := metav1.Condition{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "Test", ObservedGeneration: generation, LastTransitionTime: metav1.Now()}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		manager := s.Manager("web")
		manager.Spec.Replicas = new(int32(5)) // the status endpoint ignores it
		manager.Status.Replicas, manager.Status.ReadyReplicas, manager.Status.PodNames = 99, 98, []string{"nobody"}
		meta.SetStatusCondition(&manager.Status.Conditions, theirs)
		written, err := s.managers().UpdateStatus(s.Ctx, manager, metav1.UpdateOptions{})
		if err == nil && (written.Status.Replicas != 99 || written.DesiredReplicas() != 2) {
			t.Errorf("the answer is %s with %d replicas wanted", harness.Brief(written), written.DesiredReplicas())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if manager := s.awaitReady("web", 2); !meta.IsStatusConditionTrue(manager.Status.Conditions, theirs.Type) || manager.Generation != generation {
		t.Errorf("generation %d, conditions %+v", manager.Generation, manager.Status.Conditions)
	}

	// A merge patch replaces the whole list, so the controller has to write its conditions again.
	s.patchManager("web", `{"status":{"conditions":[{"type":"Patched","status":"True","reason":"Test","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, "status")
	s.Await("the conditions to come back", func() (any, bool) {
		conditions := s.Manager("web").Status.Conditions
		return conditions, meta.IsStatusConditionTrue(conditions, "Patched") && meta.IsStatusConditionTrue(conditions, v1.ConditionReady) &&
			meta.IsStatusConditionTrue(conditions, v1.ConditionAvailable) && meta.IsStatusConditionFalse(conditions, v1.ConditionProgressing)
	})
	// An update of the object does not change the status.
	updated := s.patchManager("web", `{"status":{"replicas":77}}`)
	if updated.Status.Replicas != 2 {
		t.Errorf("status.replicas is %d", updated.Status.Replicas)
	}
}

// A deletion without a propagation policy deletes the pods, and adds no finalizer. A finalizer of the user stays.
func TestDefaultDeletionPolicy(t *testing.T) {
	s := newSpace(t)
	if out, err := s.TryKubectl(harness.Manifest("web", "finalizers: [example.com/user]", "{replicas: 2, image: nginx}"), "apply", "-f", "-"); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	s.awaitReady("web", 2)
	if err := s.managers().Delete(s.Ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Await("only the user's finalizer to be left", func() (any, bool) {
		manager := s.Manager("web")
		if slices.Contains(manager.Finalizers, metav1.FinalizerOrphanDependents) || slices.Contains(manager.Finalizers, metav1.FinalizerDeleteDependents) {
			t.Fatalf("a deletion policy was chosen: %v", manager.Finalizers)
		}
		return manager.ObjectMeta, manager.DeletionTimestamp != nil && slices.Equal(manager.Finalizers, []string{"example.com/user"})
	})
	if pods := s.Pods(); len(pods) != 2 {
		t.Errorf("pods %v are left, want both: they go with the PodManager", podNames(pods))
	}
	s.patchManager("web", `{"metadata":{"finalizers":null}}`)
	s.Await("the PodManager and its pods to be gone", func() (any, bool) {
		_, err := s.managers().Get(s.Ctx, "web", metav1.GetOptions{})
		return err, apierrors.IsNotFound(err) && len(s.AllPods()) == 0
	})
}

// The failure is over once the PodManager requests no more than the quota allows.
func TestQuotaIsKeptByScalingDown(t *testing.T) {
	s := newSpace(t)
	s.Kubectl("create", "quota", "few", "--hard=pods=2")
	s.Await("the quota to be in force", func() (any, bool) {
		out := s.Kubectl("get", "quota", "few", "-o", "jsonpath={.status.hard."+string(corev1.ResourcePods)+"}")
		return out, out == "2"
	})
	s.apply("web", "{replicas: 3, image: nginx}")
	s.awaitRefusal("web", v1.ReasonForbidden, "exceeded quota: few")
	s.Kubectl("scale", "pm/web", "--replicas=2")
	s.awaitReady("web", 2)
	for _, kind := range []string{v1.ConditionReplicaFailure, v1.ConditionStalled} {
		if left := s.Condition("web", kind); left.Type != "" {
			t.Errorf("%s is left: %+v", kind, left)
		}
	}
}
