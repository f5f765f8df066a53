//go:build e2e

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// A PodManager with very many pods has a status long before all of them exist.
func TestStatusOfVeryMany(t *testing.T) {
	const replicas = 600
	s := newSpace(t)
	s.apply("web", "{replicas: 600, image: nginx}")
	s.await("the first status", func() (any, bool) {
		manager, there := s.manager("web"), len(s.allPods())
		if manager.Status.ObservedGeneration < 1 && there > replicas/2 {
			t.Fatalf("%d pods exist, and the status says nothing: %s", there, brief(manager))
		}
		return brief(manager), manager.Status.ObservedGeneration == 1
	})
	s.awaitReady("web", replicas)
}

// If an object has no room for a status, an event tells so.
func TestStatusThatCannotBeWritten(t *testing.T) {
	s := newSpace(t)
	// As large as etcd allows, less the size of a status.
	manager := &v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       v1.PodManagerSpec{Replicas: ptr.To[int32](1), Template: &corev1.PodTemplateSpec{}},
	}
	manager.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx"}}
	created := false
	for size := 1536 << 10; size > 1500<<10 && !created; size -= 400 {
		manager.Spec.Template.Spec.Containers[0].Args = []string{strings.Repeat("x", size)}
		_, err := shared.managers.AppsV1().PodManagers(s.name).Create(s.ctx, manager, metav1.CreateOptions{})
		created = err == nil
	}
	if !created {
		t.Fatal("no size was small enough")
	}
	s.awaitEvents("web", v1.EventFailedStatus)
	s.kubectl("delete", "pm", "web", "--timeout=30s")
}
