package controller

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
)

// withStandby gives a test a controller whose caches are filled with these PodManagers but whose workers do not run.
func withStandby(t *testing.T, objects []runtime.Object, test func(ctx context.Context, t *testing.T, c *Controller, scope source.Scope)) {
	synctest.Test(t, func(t *testing.T) {
		_, ctx := ktesting.NewTestContext(t)
		ctx, stop := context.WithCancel(ctx)
		kube := kubefake.NewClientset()
		managers := fake.NewSimpleClientset(objects...)
		clients := fakeClients(kube, managers)
		scope := source.NewScope(clients, 0, metav1.NamespaceAll, v1.LabelManager, labels.Everything())
		c, err := New(ctx, clients, []source.Scope{scope}, inplace.Capabilities{CanResizeAndDrain: true}, plan.SpreadAuto, clock.RealClock{})
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		defer func() {
			stop()
			running.Wait()
			c.Shutdown()
			c.queue.ShutDown()
		}()
		running.Go(func() { scope.Run(ctx) })
		cache.WaitFor(ctx, "", scope.SyncedCheckers()...)
		test(ctx, t, c, scope)
	})
}

// A standby fills its caches but adds no handlers. Without workers, keys would only pile up in its workqueue.
func TestStandbyQueuesNothing(t *testing.T) {
	manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
	withStandby(t, []runtime.Object{manager}, func(ctx context.Context, t *testing.T, c *Controller, scope source.Scope) {
		synctest.Wait()
		if queued := c.queue.Len(); queued != 0 {
			t.Errorf("%d keys are in the workqueue of a standby", queued)
		}
		go c.follow(ctx, scope)
		synctest.Wait()
		if queued := c.queue.Len(); queued != 1 {
			t.Errorf("%d keys are in the workqueue once the handlers run, want the key of the PodManager", queued)
		}
	})
}

// A controller that starts looks at the PodManagers that need work first.
func TestStartBeginsWithTheUnfinished(t *testing.T) {
	managerOf := func(name string, replicas int32) runtime.Object {
		manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: v1.PodManagerSpec{Replicas: ptr.To(replicas)}}
		manager.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}
		return manager
	}
	managers := []runtime.Object{managerOf("lacks-a-pod", 1), managerOf("is-done", 0)}
	withStandby(t, managers, func(ctx context.Context, t *testing.T, c *Controller, scope source.Scope) {
		go c.follow(ctx, scope)
		for _, want := range []string{"lacks-a-pod", "is-done"} {
			synctest.Wait()
			if queued := c.queue.Len(); queued != 1 {
				t.Fatalf("%d keys are in the workqueue, want %s alone", queued, want)
			}
			if key, _ := c.queue.Get(); key.Name != want {
				t.Errorf("the next key is %v, want %s", key, want)
			}
			time.Sleep(backlogDelay)
		}
	})
}
