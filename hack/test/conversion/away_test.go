//go:build e2e

package conversion

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/podmanager/hack/test/harness"
)

const refusedCall = "conversion webhook for apps.mycompany.com/v1, Kind=PodManager failed"

// While no webhook answers, only clients of v1alpha1 are affected. v1, the controller, a controller that restarts, namespace deletion and the
// garbage collector keep working, even for objects that were written in v1alpha1 before.
func TestWebhookAway(t *testing.T) {
	serveAlpha(t)
	s, doomed := newSpace(t), newSpace(t)
	for _, each := range []*space{s, doomed} {
		each.with(manifestOf("v1", "hub", "{replicas: 2, image: 'app:1'}"), "create")
		each.with(manifestOf("v1alpha1", "alpha", "{size: 2, image: 'app:1'}"), "create")
		each.with(manifestOf("v1alpha1", "applied", "{size: 2, image: 'app:1'}"), "apply", "--server-side")
	}
	names := []string{"hub", "alpha", "applied"}
	for _, name := range names {
		s.awaitReady(name, 2)
		doomed.awaitReady(name, 2)
	}
	if err := shared.hook.stop(); err != nil {
		t.Fatal(err)
	}
	s.refused(refusedCall, "get", alphaName, "hub")

	// For a server-side apply, the API server has to convert the object to v1alpha1, because some of its fields were applied in that version.
	if out, err := shared.cluster.KubectlWith(t.Context(), manifestOf("v1", "applied", "{paused: false}"),
		"apply", "--server-side", "-f", "-", "--namespace", s.Name); err == nil || !strings.Contains(out, refusedCall) {
		t.Errorf("server-side apply in v1 of an object that was applied in v1alpha1: %v\n%s", err, out)
	}

	start := time.Now()
	wants(t, "get", s.Kubectl("get", "pm"), "hub 2 2", "alpha 2 2", "applied 2 2")
	for _, name := range names {
		s.Kubectl("patch", "pm", name, "--type=merge", "-p", `{"spec":{"replicas":3,"image":"app:2"}}`)
		s.awaitReady(name, 3)
	}
	t.Logf("three objects changed in v1 and rolled out: %v", time.Since(start))
	// Other writes succeed, but lose the field ownership that server-side apply has recorded.
	if owners := s.Manager("applied").ManagedFields; len(owners) > 0 && strings.Contains(fmt.Sprint(owners), "v1alpha1") {
		t.Errorf("the API server knows how to compare after all: %v", owners)
	}
	s.with(manifestOf("v1", "late", "{replicas: 1, image: 'app:1'}"), "apply")
	s.awaitReady("late", 1)

	another, err := shared.cluster.Start(t.Context(), "another", "-namespace", s.Name, "-v", "2") // it is ready once its caches are synced
	if err != nil {
		t.Fatal(err)
	}
	if err := another.Stop(); err != nil {
		t.Fatal(err)
	}

	start = time.Now()
	for _, name := range names {
		s.Kubectl("delete", "pm", name, "--wait=false")
	}
	harness.Await(t, "the garbage collector to delete the pods", func() (any, bool) {
		pods, err := shared.cluster.Kube.CoreV1().Pods(s.Name).List(t.Context(), metav1.ListOptions{LabelSelector: "podmanager in (hub,alpha,applied)"})
		if err != nil {
			t.Fatal(err)
		}
		return len(pods.Items), len(pods.Items) == 0
	})
	t.Logf("three objects deleted, and their pods gone: %v", time.Since(start))

	start = time.Now()
	doomed.delete()
	t.Logf("a namespace with three objects deleted: %v", time.Since(start))
	s.returned()
}

// delete deletes the namespace and waits until it is gone.
func (s *space) delete() {
	s.T.Helper()
	namespaces := shared.cluster.Kube.CoreV1().Namespaces()
	if err := namespaces.Delete(s.T.Context(), s.Name, metav1.DeleteOptions{}); err != nil {
		s.T.Fatal(err)
	}
	harness.Await(s.T, "namespace "+s.Name+" to be gone", func() (any, bool) {
		namespace, err := namespaces.Get(s.T.Context(), s.Name, metav1.GetOptions{})
		return namespace.Status, apierrors.IsNotFound(err)
	})
}

// returned starts the webhook again and waits until v1alpha1 is served.
func (s *space) returned() {
	s.T.Helper()
	start := time.Now()
	if err := shared.hook.start(); err != nil {
		s.T.Fatal(err)
	}
	awaitAlpha(s.T)
	if alpha := s.alpha("late"); alpha.Spec.Image != "app:1" {
		s.T.Errorf("in v1alpha1 the PodManager is %+v", alpha.Spec)
	}
	s.T.Logf("the webhook is back, and v1alpha1 is served: %v", time.Since(start))
}

// A webhook that accepts requests but does not answer does not affect objects of v1.
func TestWebhookHangs(t *testing.T) {
	serveAlpha(t)
	s := newSpace(t)
	s.with(manifestOf("v1", "web", "{replicas: 1, image: 'app:1'}"), "create")
	s.awaitReady("web", 1)
	shared.hook.hangs.Store(true)
	t.Cleanup(func() { // end the hanging requests now, so that they do not affect later tests
		shared.hook.hangs.Store(false)
		if err := errors.Join(shared.hook.stop(), shared.hook.start()); err != nil {
			t.Error(err)
		}
	})
	start := time.Now()
	s.Kubectl("patch", "pm", "web", "--type=merge", "-p", `{"spec":{"replicas":2,"image":"app:2"}}`)
	s.awaitReady("web", 2)
	s.Kubectl("delete", "pm", "web")
	took := time.Since(start)
	t.Logf("changed in v1, rolled out and deleted: %v", took)
	if took > 25*time.Second { // the API server waits 30 s for a webhook
		t.Errorf("the changes took %v, as if the API server had waited for the webhook", took)
	}
}

// The cost of v1alpha1 for clients that do not use it: the API server keeps a cache for each version, and converts each write for it.
func TestCallsForAWriteInV1(t *testing.T) {
	serveAlpha(t)
	s := newSpace(t)
	s.made("web")
	const writes = 20
	count := 0
	write := func() {
		count++
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"count":"%d"}}}`, count)
		if _, err := shared.cluster.Managers.AppsV1().PodManagers(s.Name).Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	before := shared.hook.calls.Load()
	harness.Await(t, "the cache of v1alpha1 to be filled after the previous test", func() (any, bool) {
		write()
		return count, shared.hook.calls.Load() > before
	})
	before = shared.hook.calls.Load()
	for range writes {
		write()
	}
	harness.Await(t, "the cache of v1alpha1 to receive each write", func() (any, bool) {
		calls := shared.hook.calls.Load() - before
		return calls, calls >= writes
	})
	calls := shared.hook.calls.Load() - before
	t.Logf("%d writes in v1, and no client that reads v1alpha1: %d calls", writes, calls)
	if calls > 3*writes {
		t.Errorf("%d calls for %d writes, want at most three for each", calls, writes)
	}
}
