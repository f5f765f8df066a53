package plan_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	. "github.com/mycompany/podmanager/pkg/plan"
	. "github.com/mycompany/podmanager/pkg/plan/plantest"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

func TestNewPod(t *testing.T) {
	short := NewPod(Manager(3), Creation{Index: 4, Revision: RevisionFor(Manager(3))})
	if short.Name != "web-4" || short.Namespace != "ns" {
		t.Errorf("made %s/%s", short.Namespace, short.Name)
	}
	if c := short.Spec.Containers; len(c) != 1 || c[0].Name != "app" || c[0].Image != "nginx" {
		t.Errorf("short form has containers %v", c)
	}
	if !metav1.IsControlledBy(short, Manager(3)) || !*short.OwnerReferences[0].BlockOwnerDeletion {
		t.Errorf("owner %v", short.OwnerReferences)
	}
	want := map[string]string{
		"app": "web", "podmanager": "web", "podmanager-uid": "uid-web",
		"apps.mycompany.com/revision": RevisionFor(Manager(3)).Hash, "apps.kubernetes.io/pod-index": "4",
	}
	if !maps.Equal(short.Labels, want) {
		t.Errorf("labels %v, want %v", short.Labels, want)
	}
}

func TestNewPodFromTemplate(t *testing.T) {
	m := Manager(3, func(m *v1.PodManager) {
		m.Spec.Image = ""
		m.Spec.Template = &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{
				Labels:      map[string]string{"app": "shop", "tier": "front"},
				Annotations: map[string]string{"note": "x", v1.AnnotationDelete: "true"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
		}
	})
	made := NewPod(m, Creation{Revision: RevisionFor(m)})
	if made.Labels["app"] != "shop" || made.Labels["tier"] != "front" || made.Labels["podmanager"] != "web" || made.Annotations["note"] != "x" || podstate.IsMarked(made) {
		t.Errorf("labels %v annotations %v", made.Labels, made.Annotations)
	}
	made.Labels["tier"], made.Annotations["note"], made.Spec.Containers[0].Image = "changed", "changed", "changed"
	if made := NewPod(m, Creation{Revision: RevisionFor(m)}); made.Labels["tier"] != "front" || made.Annotations["note"] != "x" || made.Spec.Containers[0].Image != "busybox" {
		t.Error("the pod shares memory with the template")
	}
}
