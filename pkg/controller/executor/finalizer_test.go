package executor

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/consistency"
	"github.com/mycompany/podmanager/pkg/controller/memory"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/plan"
)

// carryOut makes a plan for a PodManager without pods, and carries it out.
func carryOut(ctx context.Context, clients source.Clients, manager *v1.PodManager) *Outcome {
	e := New(Deps{Clients: clients, Tracker: consistency.NewTracker(), Memories: memory.New(), WriteLatency: &memory.Latency{}, Clock: clock.RealClock{}}, NewLanes())
	observed := plan.Observed{Manager: manager, Now: e.Clock.Now(), PodNamed: func(string) *corev1.Pod { return nil }}
	decided := plan.Make(observed)
	key := cache.MetaObjectToName(manager)
	done, proceed := e.Begin(ctx, key, &observed, decided)
	if proceed {
		e.Apply(ctx, key, &observed, decided, done)
	}
	return done
}

// A plan that adds the finalizer proceeds only if the live PodManager has the UID, finalizers and spec of the plan.
func TestAddFinalizerChecksThePodManager(t *testing.T) {
	other := []string{"example.com/other"}
	tests := map[string]struct {
		live func(*v1.PodManager)
		// finalizers are the live ones afterwards, created tells that the plan proceeded.
		finalizers []string
		created    bool
	}{
		"same":                       {live: func(*v1.PodManager) {}, finalizers: []string{v1.Finalizer}, created: true},
		"somebody else has labelled": {live: func(m *v1.PodManager) { m.Labels = map[string]string{"a": "b"} }, finalizers: []string{v1.Finalizer}, created: true},
		"another spec":               {live: func(m *v1.PodManager) { m.Spec.Replicas = ptr.To[int32](0) }, finalizers: []string{v1.Finalizer}},
		"other finalizers":           {live: func(m *v1.PodManager) { m.Finalizers = other }, finalizers: other},
		"another UID":                {live: func(m *v1.PodManager) { m.UID = "another" }},
		"being deleted": {
			live:       func(m *v1.PodManager) { m.DeletionTimestamp, m.Finalizers = ptr.To(metav1.Now()), other },
			finalizers: other,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			cached := &v1.PodManager{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid-web", Generation: 1},
				Spec: v1.PodManagerSpec{Replicas: ptr.To[int32](1), Image: "nginx",
					ScaleDown: &v1.ScaleDown{MaxTerminating: ptr.To(intstr.FromInt32(1))}},
			}
			live := cached.DeepCopy()
			test.live(live)
			kube, managers := kubefake.NewClientset(), fake.NewSimpleClientset(live)
			done := carryOut(ctx, source.Clients{Kube: kube, PodManagers: managers.AppsV1()}, cached)
			// The fake API server answers a failed test of a JSON patch with another error than the real one.
			if created, abandoned := len(done.Created) > 0, done.Outdated || done.err != nil; created != test.created || abandoned == created {
				t.Errorf("created %v, outdated %v, error %v; want created %v", created, done.Outdated, done.err, test.created)
			}
			after, err := managers.AppsV1().PodManagers("ns").Get(context.Background(), "web", metav1.GetOptions{})
			if err != nil || len(after.Finalizers) != len(test.finalizers) || len(after.Finalizers) > 0 && after.Finalizers[0] != test.finalizers[0] {
				t.Errorf("finalizers %v (%v), want %v", after.Finalizers, err, test.finalizers)
			}
		})
	}
}

// A refused finalizer is reported as a failure, and is an error with backoff; no pod is created without the finalizer.
func TestRefusedFinalizer(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid-web"}, Spec: v1.PodManagerSpec{
		Image: "nginx", ScaleDown: &v1.ScaleDown{MaxTerminating: ptr.To(intstr.FromInt32(1))},
	}}
	managers := fake.NewSimpleClientset(manager)
	managers.PrependReactor("patch", "podmanagers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(v1.Resource("podmanagers"), "web", errors.New("a policy is against it"))
	})
	done := carryOut(ctx, source.Clients{Kube: kubefake.NewClientset(), PodManagers: managers.AppsV1()}, manager)
	if len(done.Created) > 0 || done.err == nil || done.Failure == nil || done.Failure.Condition != v1.ReasonFailedFinal || !done.Failure.Refused() {
		t.Errorf("created %d pods, error %v, tells %+v", len(done.Created), done.err, done.Failure)
	}
}
