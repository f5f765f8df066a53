package controller

import (
	"context"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeinformers "k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/executor"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/generated/informers/externalversions"
)

// A standby fills its caches but adds no handlers: without workers, keys would only pile up in its workqueue.
func TestStandbyQueuesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ctx := ktesting.NewTestContext(t)
		ctx, stop := context.WithCancel(ctx)
		kube := kubefake.NewClientset()
		managers := fake.NewSimpleClientset(&v1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}})
		pods := kubeinformers.NewSharedInformerFactory(kube, 0)
		informers := externalversions.NewSharedInformerFactory(managers, 0)
		scope := source.Scope{Pods: pods.Core().V1().Pods(), Revisions: pods.Apps().V1().ControllerRevisions(), PodManagers: informers.Apps().V1().PodManagers()}
		c, err := New(ctx, fakeClients(kube, managers), []source.Scope{scope}, Settings{Lanes: executor.NewLanes()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			stop()
			pods.Shutdown()
			informers.Shutdown()
			c.Shutdown()
			c.queue.ShutDown()
		}()
		filled := scope.SyncedCheckers()
		pods.StartWithContext(ctx)
		informers.StartWithContext(ctx)
		cache.WaitFor(ctx, "", filled...)
		synctest.Wait()
		if queued := c.queue.Len(); queued != 0 {
			t.Errorf("%d keys are in the workqueue of a standby", queued)
		}
		c.startHandlers(ctx, scope)
		synctest.Wait()
		if queued := c.queue.Len(); queued != 1 {
			t.Errorf("%d keys are in the workqueue once the handlers run, want the key of the PodManager", queued)
		}
	})
}
