package apiserver_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

func TestDeletePod(t *testing.T) {
	const uid = types.UID("other")
	scheduled := func(ctx context.Context, t *testing.T, s sim) { s.running(ctx, t, "web") }
	terminating := func(ctx context.Context, t *testing.T, s sim) {
		s.running(ctx, t, "web")
		if err := s.pods().Delete(ctx, "web", remove); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		before  func(ctx context.Context, t *testing.T, s sim)
		options metav1.DeleteOptions
		code    int
		message string
		// grace is the remaining grace period; -1 if the pod is gone. writes is how many versions the deletion takes.
		grace, writes int64
	}{
		"unscheduled":                 {nil, remove, 0, "", -1, 2},
		"scheduled":                   {scheduled, remove, 0, "", 30, 1},
		"scheduled, with a period":    {scheduled, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](5)}, 0, "", 5, 1},
		"scheduled, negative period":  {scheduled, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](-5)}, 0, "", 1, 1},
		"scheduled, at once":          {scheduled, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, 0, "", -1, 2},
		"terminating":                 {terminating, remove, 0, "", 30, 0},
		"terminating, longer":         {terminating, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](60)}, 0, "", 30, 0},
		"terminating, shorter":        {terminating, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](10)}, 0, "", 10, 1},
		"terminating, by the kubelet": {terminating, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, 0, "", -1, 2},
		"another UID":                 {nil, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(uid)}}, 409, `Operation cannot be fulfilled on Pod "web": the UID in the precondition (other) does not match the UID in record (`, 0, 0},
		"another version":             {nil, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To("1")}}, 409, "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (2). The object might have been modified", 0, 0},
		"foreground":                  {nil, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)}, 0, "", 0, 1},
		"a dry run":                   {nil, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, 0, "", 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, nil, func(t *testing.T, s sim) {
				ctx := t.Context()
				if test.before != nil {
					test.before(ctx, t, s)
				} else {
					must(s.pods().Create(ctx, newPod("web"), create))
				}
				before := s.Version()
				checkError(t, s.pods().Delete(ctx, "web", test.options), test.code, test.message)
				if wrote := s.Version() - before; wrote != test.writes {
					t.Errorf("%d writes, want %d", wrote, test.writes)
				}
				live, err := s.pods().Get(ctx, "web", get)
				switch isGone := err != nil; {
				case isGone != (test.grace == -1):
					t.Errorf("reading the pod after its deletion returns %v", err)
				case !isGone && ptr.Deref(live.DeletionGracePeriodSeconds, 0) != test.grace:
					t.Errorf("the pod's grace period is %v s", live.DeletionGracePeriodSeconds)
				case test.grace > 0 && live.DeletionTimestamp.Sub(time.Now().Truncate(time.Second)) != time.Duration(test.grace)*time.Second:
					t.Errorf("the pod's deletionTimestamp is %v", live.DeletionTimestamp)
				case test.grace > 0 && live.Generation != 2:
					t.Errorf("the pod's generation is %d", live.Generation)
				}
			})
		})
	}
}

// The answer to a pod's deletion carries its last version. A second deletion gets 404.
func TestDeleteAnswer(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		must(s.pods().Create(ctx, newPod("web"), create))
		deleted := &corev1.Pod{}
		remove := func() error {
			return s.kube.CoreV1().RESTClient().Delete().Namespace("default").Resource("pods").Name("web").Body(&metav1.DeleteOptions{}).Do(ctx).Into(deleted)
		}
		if err := remove(); err != nil || deleted.ResourceVersion != "4" || deleted.DeletionTimestamp == nil {
			t.Errorf("got %+v, %v", deleted.ObjectMeta, err)
		}
		checkError(t, remove(), 404, `pods "web" not found`)
	})
}

func TestFinalizers(t *testing.T) {
	orphan, foreground, background := metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground, metav1.DeletePropagationBackground
	tests := map[string]struct {
		own    []string
		policy *metav1.DeletionPropagation
		want   []string
	}{
		"none":                        {nil, nil, nil},
		"one":                         {[]string{"example.com/a"}, nil, []string{"example.com/a"}},
		"orphan":                      {nil, &orphan, []string{"orphan"}},
		"foreground":                  {[]string{"example.com/a"}, &foreground, []string{"example.com/a", "foregroundDeletion"}},
		"background instead":          {[]string{"example.com/a", "orphan"}, &background, []string{"example.com/a"}},
		"orphan as the object has it": {[]string{"orphan"}, nil, []string{"orphan"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			simulate(t, nil, func(t *testing.T, s sim) {
				ctx := t.Context()
				client := s.managers.AppsV1().PodManagers("default")
				must(client.Create(ctx, &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web", Finalizers: test.own}, Spec: v1.PodManagerSpec{Image: "nginx"}}, create))
				if err := client.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: test.policy}); err != nil {
					t.Fatal(err)
				}
				live, err := client.Get(ctx, "web", get)
				if len(test.want) == 0 {
					checkError(t, err, 404, `podmanagers.apps.mycompany.com "web" not found`)
					return
				}
				if err != nil || live.DeletionTimestamp == nil || live.Generation != 2 || len(live.Finalizers) != len(test.want) || live.Finalizers[0] != test.want[0] {
					t.Fatalf("after the deletion the object is %+v, %v", live, err)
				}
				_, err = client.Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/late"]}}`), patch)
				checkError(t, err, 422, "no new finalizers can be added if the object is being deleted")
				before := s.Version()
				patched := must(client.Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), patch))
				if _, err := client.Get(ctx, "web", get); err == nil || len(patched.Finalizers) > 0 || s.Version() != before+1 {
					t.Errorf("the last patch gives %+v, %v", patched.ObjectMeta, err)
				}
			})
		})
	}
}

// A terminating namespace stays until its content is gone and its controller has removed the finalizer.
func TestNamespace(t *testing.T) {
	simulate(t, nil, func(t *testing.T, s sim) {
		ctx := t.Context()
		namespaces := s.kube.CoreV1().Namespaces()
		made := must(namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, create))
		if made.Status.Phase != corev1.NamespaceActive || made.Labels[corev1.LabelMetadataName] != "a" || len(made.Spec.Finalizers) != 1 {
			t.Errorf("the namespace is created as %+v", made)
		}
		for _, name := range []string{"x", "y"} {
			must(s.kube.CoreV1().Pods("a").Create(ctx, newPod(name, "name", name), create))
		}
		must(s.pods().Create(ctx, newPod("x"), create))
		if err := namespaces.Delete(ctx, "a", remove); err != nil {
			t.Fatal(err)
		}
		if err := s.kube.CoreV1().Pods("a").DeleteCollection(ctx, remove, metav1.ListOptions{LabelSelector: "name=x"}); err != nil {
			t.Fatal(err)
		}
		if left := must(s.kube.CoreV1().Pods("").List(ctx, list)).Items; len(left) != 2 || left[0].Name != "y" || left[1].Namespace != "default" {
			t.Errorf("the pods that are left: %+v", left)
		}
		live := must(namespaces.Get(ctx, "a", get))
		if live.Status.Phase != corev1.NamespaceTerminating || live.DeletionTimestamp == nil {
			t.Errorf("the namespace is %+v", live)
		}
		live.Spec.Finalizers = nil
		must(namespaces.Finalize(ctx, live, update))
		_, err := namespaces.Get(ctx, "a", get)
		checkError(t, err, 404, `namespaces "a" not found`)
	})
}
