package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/generated/clientset/versioned/fake"
	managersv1 "github.com/mycompany/podmanager/pkg/generated/clientset/versioned/typed/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// noHistory is a metadata client that shows no objects and has no history: the fake API servers have no versions to compare.
type noHistory struct{ metadata.Getter }

func (n noHistory) Resource(schema.GroupVersionResource) metadata.Getter { return n }
func (n noHistory) Namespace(string) metadata.ResourceInterface          { return n }

func (noHistory) List(_ context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if options.ResourceVersionMatch != "" {
		return nil, apierrors.NewResourceExpired("no history")
	}
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "9999999"}}, nil
}

// listsFirst is a client of PodManagers whose watches cannot start with a list.
type listsFirst struct{ managersv1.AppsV1Interface }

func (listsFirst) IsWatchListSemanticsUnSupported() bool { return true }

// fakeClients returns the clients of a controller under test.
func fakeClients(kube *kubefake.Clientset, managers *fake.Clientset) source.Clients {
	return source.Clients{Kube: kube, PodManagers: listsFirst{managers.AppsV1()}, Events: kube, Statuses: managers.AppsV1(), Metadata: noHistory{},
		Nodes: source.NewNodes(kube, clock.RealClock{})}
}

// A PodManager that makes the controller panic does not keep it from syncing others.
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
	clients := fakeClients(kube, managers)
	scope := source.NewScope(clients, 0, metav1.NamespaceAll, v1.LabelManager, labels.Everything())
	c, err := New(ctx, clients, []source.Scope{scope}, inplace.Capabilities{CanResizeAndDrain: true}, plan.SpreadAuto, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	c.makePlan = func(o plan.Observed) plan.Plan {
		if o.Manager.Name == "poison" {
			panic("cannot happen")
		}
		return plan.Make(o)
	}
	go scope.Run(ctx)
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
		t.Errorf("%v: want two pods of the PodManager good, and a condition Stalled on the PodManager poison, which has %+v", err, seen)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// A read that the API server forbids is reported: otherwise, no user would learn why nothing happens.
func TestForbiddenReadIsReported(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	kube := kubefake.NewClientset()
	kube.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		isLive := action.(clienttesting.ListAction).GetListRestrictions().Labels.String() == podstate.Selector("web").String()
		return isLive, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no role"))
	})
	managers := fake.NewSimpleClientset(&v1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid-web", Generation: 1},
		Spec:       v1.PodManagerSpec{Replicas: ptr.To[int32](2), Image: "nginx"},
		Status:     v1.PodManagerStatus{CurrentRevision: "web-unknown"}, // is looked for by a live read
	})
	clients := fakeClients(kube, managers)
	scope := source.NewScope(clients, 0, metav1.NamespaceAll, v1.LabelManager, labels.Everything())
	c, err := New(ctx, clients, []source.Scope{scope}, inplace.Capabilities{CanResizeAndDrain: true}, plan.SpreadAuto, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	go scope.Run(ctx)
	ended := make(chan error)
	go func() { ended <- c.Run(ctx, 1) }()

	var seen []metav1.Condition
	err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		manager, err := managers.AppsV1().PodManagers("ns").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		seen = manager.Status.Conditions
		stalled := meta.FindStatusCondition(seen, v1.ConditionStalled)
		return stalled != nil && stalled.Reason == v1.ReasonReadForbidden && strings.Contains(stalled.Message, "no role"), nil
	})
	if err != nil {
		t.Errorf("%v: want a condition Stalled with the words of the API server, have %+v", err, seen)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}
