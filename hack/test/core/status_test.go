//go:build e2e

package core

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/test/harness"
	"github.com/mycompany/podmanager/hack/test/harness/faults"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A PodManager with very many pods has a status long before all of them exist.
func TestStatusOfVeryMany(t *testing.T) {
	const replicas = 600
	s := newSerialSpace(t) // 600 pods at once would delay all other tests
	s.apply("web", "{replicas: 600, image: nginx}")
	s.Await("the first status", func() (any, bool) {
		manager, there := s.Manager("web"), len(s.AllPods())
		if manager.Status.ObservedGeneration < 1 && there > replicas/2 {
			t.Fatalf("%d pods exist, and the status says nothing: %s", there, harness.Brief(manager))
		}
		return harness.Brief(manager), manager.Status.ObservedGeneration == 1
	})
	s.awaitReady("web", replicas)
}

// If an object has no room for a status, an event reports it.
func TestStatusThatCannotBeWritten(t *testing.T) {
	s := newSpace(t)
	// As large as etcd allows, minus the size of a status.
	manager := &v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       v1.PodManagerSpec{Replicas: ptr.To[int32](1), Template: &corev1.PodTemplateSpec{}},
	}
	manager.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx"}}
	created := false
	for size := 1536 << 10; size > 1500<<10 && !created; size -= 400 {
		manager.Spec.Template.Spec.Containers[0].Args = []string{strings.Repeat("x", size)}
		_, err := shared.managers.AppsV1().PodManagers(s.Name).Create(s.Ctx, manager, metav1.CreateOptions{})
		created = err == nil
	}
	if !created {
		t.Fatal("no size was small enough")
	}
	s.awaitEvents("web", v1.EventFailedStatus)
	s.Kubectl("delete", "pm", "web", "--timeout=3m")
}

// If the same thing happens again to an unchanged object, the count of its event goes up, and no new event is written.
func TestEventIsCountedUp(t *testing.T) {
	f := newFaulty(t)
	isStatus := func(r faults.Request) bool {
		return r.Resource == "podmanagers" && r.Subresource == "status" && r.Namespace == f.Name
	}
	awaitCount := func(want int) {
		f.Await("the event's count", func() (any, bool) {
			count, notes := f.warnings("web", v1.EventFailedStatus)
			return fmt.Sprint(count, " ", notes), count == want
		})
	}
	// Each rule is added before the previous one is removed: a status that gets through would change the object.
	refused := f.answer("refused", 403, isStatus)
	f.applyPrivate("web", "{replicas: 1, image: nginx}")
	awaitCount(1)
	away := f.answer("away", 503, isStatus)
	refused()
	f.Await("another kind of failure, after which a refusal is news", func() (any, bool) { return f.did(3), f.proxy.Count("away") > 0 })
	again := f.answer("refused again", 403, isStatus)
	away()
	awaitCount(2)
	again()
	f.awaitReady("web", 1)
	list, err := shared.kube.EventsV1().Events(f.Name).List(f.Ctx, metav1.ListOptions{FieldSelector: "regarding.name=web,reason=" + v1.EventFailedStatus})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("there are %d events, want one that counts, error %v", len(list.Items), err)
	}
}

// If another client keeps changing the object, so that each update of its status conflicts, the status is still written.
func TestStatusDespiteConflicts(t *testing.T) {
	f := newFaulty(t)
	f.answer("conflict", 409, func(r faults.Request) bool {
		return r.Verb == "update" && r.Resource == "podmanagers" && r.Subresource == "status" && r.Namespace == f.Name
	})
	f.applyPrivate("web", "{replicas: 1, image: nginx}")
	f.awaitReady("web", 1)
	if f.proxy.Count("conflict") == 0 {
		t.Error("no update has conflicted")
	}
}
