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
	"github.com/mycompany/podmanager/pkg/controller/reconcile"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/controller/syncstate"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/plan"
)

func newExecutor(clients source.Clients) *Executor {
	return New(reconcile.Deps{Clients: clients, States: syncstate.New(), Clock: clock.RealClock{}})
}

// carryOut makes a plan for a PodManager without pods, and carries it out.
func carryOut(ctx context.Context, e *Executor, manager *v1.PodManager) *reconcile.Outcome {
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
		// finalizers are the live ones afterwards; created means that the plan proceeded.
		finalizers []string
		created    bool
	}{
		"same":                       {live: func(*v1.PodManager) {}, finalizers: []string{v1.Finalizer}, created: true},
		"labelled by another client": {live: func(m *v1.PodManager) { m.Labels = map[string]string{"a": "b"} }, finalizers: []string{v1.Finalizer}, created: true},
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
			done := carryOut(ctx, newExecutor(source.Clients{Kube: kube, PodManagers: managers.AppsV1()}), cached)
			// If the test of a JSON patch fails, the fake API server returns a different error than the real one.
			if created, abandoned := len(done.Created) > 0, done.Outdated || done.Err != nil; created != test.created || abandoned == created {
				t.Errorf("created %v, outdated %v, error %v; want created %v", created, done.Outdated, done.Err, test.created)
			}
			after, err := managers.AppsV1().PodManagers("ns").Get(context.Background(), "web", metav1.GetOptions{})
			if err != nil || len(after.Finalizers) != len(test.finalizers) || len(after.Finalizers) > 0 && after.Finalizers[0] != test.finalizers[0] {
				t.Errorf("finalizers %v (%v), want %v", after.Finalizers, err, test.finalizers)
			}
		})
	}
}

// A refused finalizer is reported as a failure and held back, and the rest of the plan proceeds. A response that looks like a change counts
// as a change at first. If the next plan, which is made from a live read, gets the same response, it counts as a refusal.
func TestRefusedFinalizer(t *testing.T) {
	manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid-web"}, Spec: v1.PodManagerSpec{
		Replicas: ptr.To[int32](1), Image: "nginx", ScaleDown: &v1.ScaleDown{MaxTerminating: ptr.To(intstr.FromInt32(1))},
	}}
	for name, test := range map[string]struct {
		answer        error
		refusedAtOnce bool
	}{
		"403": {apierrors.NewForbidden(v1.Resource("podmanagers"), "web", errors.New("a policy is against it")), true},
		"422": {apierrors.NewInvalid(v1.GroupVersionKind.GroupKind(), "web", nil), false},
		"404": {apierrors.NewNotFound(v1.Resource("podmanagers"), "web"), false},
		"409": {apierrors.NewConflict(v1.Resource("podmanagers"), "web", errors.New("a webhook is against it")), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, ctx := ktesting.NewTestContext(t)
			managers := fake.NewSimpleClientset(manager)
			managers.PrependReactor("patch", "podmanagers", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.answer })
			e := newExecutor(source.Clients{Kube: kubefake.NewClientset(), PodManagers: managers.AppsV1()})
			done := carryOut(ctx, e, manager)
			if !test.refusedAtOnce {
				if !done.Outdated || done.Err == nil || len(done.Created) > 0 || done.Failure != nil {
					t.Errorf("at first: outdated %v, error %v, created %d pods, failure %+v; want an outdated plan",
						done.Outdated, done.Err, len(done.Created), done.Failure)
				}
				done = carryOut(ctx, e, manager)
			}
			if len(done.Created) != 1 || done.Err != nil || done.Failure == nil || done.Failure.Condition != v1.ReasonFailedFinal || !done.Failure.Refused() {
				t.Errorf("created %d pods, error %v, failure %+v; want one pod and a refused finalizer", len(done.Created), done.Err, done.Failure)
			}
			if backoffs := e.States.Of(cache.MetaObjectToName(manager)).BackoffsOf(manager); len(backoffs) != 1 || done.Again.Never() {
				t.Errorf("the backoffs are %v, the requeue is %+v; want one backoff and a requeue", backoffs, done.Again)
			}
		})
	}
}
