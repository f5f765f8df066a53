package apiserver_test

import (
	"context"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// undecodable are patches after which a PodManager does not fit the Go type, or is too expensive to decode. Such objects may have been stored under
// an earlier CRD.
var undecodable = map[string]string{
	"quantity": `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1","resources":{"limits":{"cpu":"1e1.5"}}}]}}}}`,
	"exponent": `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1","resources":{"limits":{"cpu":"1e-1000"}}}]}}}}`,
	"port":     `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1","ports":[{"containerPort":3000000000}]}]}}}}`,
	"replicas": `{"spec":{"replicas":"three"}}`,
	"status":   `{"spec":{"replicas":"three"},"status":{"replicas":"three"}}`,
}

// A PodManager that cannot be decoded keeps its finalizer, and its status reports why. Once it is deleted, the controller removes the finalizer,
// whether the garbage collector deletes the pods or orphans them. Other PodManagers are not affected.
func TestUndecodableIsDeleted(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
		client := dynamic.NewForConfigOrDie(configOf(s.Server, "test", nil)).Resource(v1.GroupVersionKind.GroupVersion().WithResource("podmanagers")).Namespace("default")
		names := []string{"good"}
		for kind := range undecodable {
			names = append(names, kind, kind+"-orphaning")
		}
		// A PodManager with this strategy needs the finalizer.
		inPlace := v1.UpdateStrategy{RollingUpdate: &v1.RollingUpdate{InPlaceGracePeriodSeconds: 5, PodUpdatePolicy: v1.InPlaceIfPossible}}
		for _, name := range names {
			manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodManagerSpec{Replicas: ptr.To[int32](2), Image: "nginx:1", UpdateStrategy: inPlace}}
			must(s.managers.AppsV1().PodManagers("default").Create(ctx, manager, create))
		}
		stop := startController(ctx, t, s.Server)
		go tend(ctx, t, s.kube)
		time.Sleep(time.Minute)
		for kind, change := range undecodable {
			for _, name := range []string{kind, kind + "-orphaning"} {
				must(client.Patch(ctx, name, types.MergePatchType, []byte(change), patch))
				must(client.Patch(ctx, name, types.MergePatchType, []byte(change), patch, "status"))
			}
		}
		must(client.Patch(ctx, "good", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), patch))
		time.Sleep(time.Minute)
		for kind := range undecodable {
			checkUndecodable(t, must(client.Get(ctx, kind, get)))
			letGo(ctx, t, client, kind)
		}
		if ready, _, _ := unstructured.NestedInt64(must(client.Get(ctx, "good", get)).Object, "status", "readyReplicas"); ready != 3 {
			t.Errorf("next to the undecodable PodManagers, a good one that was scaled to 3 has %d ready pods", ready)
		}
		time.Sleep(time.Minute)
		calm := s.Version()
		time.Sleep(time.Hour)
		if writes := s.Version() - calm; writes > 0 {
			t.Errorf("%d writes while all was calm", writes)
		}
		stop()
		cancel()
	})
}

// checkUndecodable checks that the status reports that the object cannot be decoded, and that the finalizer is still there.
func checkUndecodable(t *testing.T, manager *unstructured.Unstructured) {
	t.Helper()
	conditions, _, _ := unstructured.NestedSlice(manager.Object, "status", "conditions")
	isStalled := slices.ContainsFunc(conditions, func(condition any) bool {
		fields := condition.(map[string]any)
		return fields["type"] == v1.ConditionStalled && fields["reason"] == v1.ReasonUndecodable
	})
	if !isStalled || !slices.Equal(manager.GetFinalizers(), []string{v1.Finalizer}) {
		t.Errorf("%s has the finalizers %v and the conditions %v", manager.GetName(), manager.GetFinalizers(), conditions)
	}
}

// letGo deletes both PodManagers with the same bad value. The first is soon gone. The second is deleted with its pods orphaned, and waits only for
// the garbage collector.
func letGo(ctx context.Context, t *testing.T, client dynamic.ResourceInterface, kind string) {
	t.Helper()
	err1 := client.Delete(ctx, kind, remove)
	err2 := client.Delete(ctx, kind+"-orphaning", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationOrphan)})
	if err1 != nil || err2 != nil {
		t.Errorf("the deletions returned %v, %v", err1, err2)
	}
	time.Sleep(15 * time.Second)
	if left, err := client.Get(ctx, kind, get); !apierrors.IsNotFound(err) {
		t.Errorf("%s still exists: %v, %v", kind, left, err)
	}
	left, err := client.Get(ctx, kind+"-orphaning", get)
	if err != nil || !slices.Equal(left.GetFinalizers(), []string{metav1.FinalizerOrphanDependents}) {
		t.Errorf("%s-orphaning does not have only the finalizer of the garbage collector: %v, %v", kind, left, err)
	}
}
