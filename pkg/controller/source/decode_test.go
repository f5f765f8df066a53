package source

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func object(name string, spec map[string]any) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.mycompany.com/v1", "kind": "PodManager",
		"metadata": map[string]any{
			"name": name, "namespace": "ns", "uid": "uid", "resourceVersion": "5", "finalizers": []any{v1.Finalizer},
			"annotations": map[string]any{Undecodable: "says the user"},
		},
		"spec":   spec,
		"status": map[string]any{"replicas": int64(2)},
	}}
}

func TestDecodeList(t *testing.T) {
	list := decodeList(&unstructured.UnstructuredList{
		Object: map[string]any{"metadata": map[string]any{"resourceVersion": "9", "continue": "more"}},
		Items: []unstructured.Unstructured{
			object("good", map[string]any{"replicas": int64(3), "image": "nginx"}),
			object("bad", map[string]any{"replicas": "three", "image": "nginx"}),
			object("fine", map[string]any{"replicas": int64(1), "image": "nginx"}),
		},
	})
	if list.ResourceVersion != "9" || list.Continue != "more" || len(list.Items) != 3 {
		t.Fatalf("list %+v", list.ListMeta)
	}
	good, bad, fine := list.Items[0], list.Items[1], list.Items[2]
	if good.DesiredReplicas() != 3 || fine.DesiredReplicas() != 1 || good.Annotations[Undecodable] != "" {
		t.Errorf("good PodManagers: %+v, %+v", good, fine)
	}
	if bad.Name != "bad" || bad.UID != "uid" || bad.Finalizers[0] != v1.Finalizer || bad.ResourceVersion != "5" || bad.Status.Replicas != 2 {
		t.Errorf("undecodable PodManager: %+v", bad)
	}
	if why := bad.Annotations[Undecodable]; !strings.Contains(why, "spec.replicas") {
		t.Errorf("annotated with %q", why)
	}
}

func TestDecodeEvent(t *testing.T) {
	changed := object("web", map[string]any{"image": "nginx"})
	event, keep := decodeEvent(watch.Event{Type: watch.Modified, Object: &changed})
	if manager, ok := event.Object.(*v1.PodManager); !keep || !ok || manager.Name != "web" || event.Type != watch.Modified {
		t.Errorf("event %+v, kept %v", event, keep)
	}
	expired := &metav1.Status{Reason: metav1.StatusReasonExpired, Message: errors.New("too old").Error()}
	if event, keep := decodeEvent(watch.Event{Type: watch.Error, Object: expired}); !keep || event.Object != expired {
		t.Errorf("the API server's error became %+v, kept %v", event, keep)
	}
}
