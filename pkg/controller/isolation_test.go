package controller

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	kubeinformers "k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/executor"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	"github.com/mycompany/podmanager/pkg/generated/informers/externalversions"
	"github.com/mycompany/podmanager/pkg/plan"
)

// fakeClients are the clients of a controller under test.
func fakeClients(kube *kubefake.Clientset, managers *fake.Clientset) source.Clients {
	scheme := metadatafake.NewTestScheme()
	utilruntime.Must(metav1.AddMetaToScheme(scheme))
	return source.Clients{Kube: kube, PodManagers: managers.AppsV1(), Events: kube, Statuses: managers.AppsV1(), Metadata: metadatafake.NewSimpleMetadataClient(scheme)}
}

// A PodManager that makes the controller panic does not keep it from syncing the others.
func TestPanicIsIsolated(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	newManager := func(name string) *v1.PodManager {
		return &v1.PodManager{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Generation: 1},
			Spec:       v1.PodManagerSpec{Replicas: ptr.To[int32](2), Image: "nginx"},
		}
	}
	kube := kubefake.NewClientset()
	managers := fake.NewSimpleClientset(newManager("poison"), newManager("good"))
	pods := kubeinformers.NewSharedInformerFactory(kube, 0)
	informers := externalversions.NewSharedInformerFactory(managers, 0)
	c, err := New(ctx, fakeClients(kube, managers), []source.Scope{{Pods: pods.Core().V1().Pods(), Revisions: pods.Apps().V1().ControllerRevisions(),
		PodManagers: informers.Apps().V1().PodManagers()}}, Settings{Lanes: executor.NewLanes()})
	if err != nil {
		t.Fatal(err)
	}
	c.decide = func(o plan.Observed) plan.Plan {
		if o.Manager.Name == "poison" {
			panic("cannot happen")
		}
		return plan.Make(o)
	}
	informers.Apps().V1().PodManagers().Informer() // a factory starts only informers that were requested
	pods.StartWithContext(ctx)
	informers.StartWithContext(ctx)
	ended := make(chan error)
	go func() { ended <- c.Run(ctx, 1) }()

	var seen []metav1.Condition
	err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		list, err := kube.CoreV1().Pods("ns").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		manager, err := managers.AppsV1().PodManagers("ns").Get(ctx, "poison", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		seen = manager.Status.Conditions
		stalled := meta.FindStatusCondition(seen, v1.ConditionStalled)
		return len(list.Items) == 2 && stalled != nil && stalled.Reason == v1.ReasonInternalError, nil
	})
	if err != nil {
		t.Errorf("%v: want two pods of good, and a Stalled condition on poison, which has %+v", err, seen)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}
