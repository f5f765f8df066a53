package apiserver_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller"
	"github.com/mycompany/podmanager/pkg/controller/access"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/plan"
	"github.com/mycompany/podmanager/pkg/plan/inplace"
)

// startController starts the controller as cmd/controller does. stop stops it and returns once all its goroutines have ended.
func startController(ctx context.Context, t *testing.T, server *apiserver.Server) (stop func()) {
	t.Helper()
	config := configOf(server, "controller", nil)
	kube, err1 := kubernetes.NewForConfig(config)
	managers, err2 := source.NewManagerClient(config)
	partial, err3 := metadata.NewForConfig(config)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	clients := source.Clients{Kube: kube, PodManagers: managers, Metadata: partial, Events: kube, Statuses: managers,
		Nodes: source.NewNodes(kube, clock.RealClock{})}
	scope := source.NewScope(clients, 0, metav1.NamespaceAll, v1.LabelManager, labels.Everything())
	scopes := source.NewScopes(kube, []source.Scope{scope}, access.All)
	c, err := controller.New(ctx, clients, []source.Scope{scope}, inplace.Capabilities{CanResizeAndDrain: true}, plan.SpreadAuto, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	workCtx, stopWork := context.WithCancel(ctx)
	scopesCtx, stopScopes := context.WithCancel(ctx)
	var working, watching sync.WaitGroup
	watching.Go(func() {
		if err := scopes.Run(scopesCtx); err != nil {
			t.Error(err)
		}
	})
	working.Go(func() {
		if err := c.Run(workCtx, 5); err != nil {
			t.Error(err)
		}
	})
	return func() {
		stopWork()
		working.Wait()
		c.Shutdown()
		stopScopes()
		watching.Wait()
	}
}

// tend does the work of the scheduler and the kubelet for all pods until ctx is done.
func tend(ctx context.Context, t *testing.T, kube kubernetes.Interface) {
	w := must(kube.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{TimeoutSeconds: ptr.To[int64](100_000)}))
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, more := <-w.ResultChan():
			if !more {
				return
			}
			pod, isPod := event.Object.(*corev1.Pod)
			switch {
			case !isPod || event.Type == watch.Deleted:
			case pod.DeletionTimestamp != nil:
				_ = kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
			case pod.Spec.NodeName == "":
				err := makeReady(ctx, kube, pod)
				if isGone := apierrors.IsNotFound(err) || apierrors.IsConflict(err); err != nil && !isGone && ctx.Err() == nil {
					t.Error(err)
				}
			}
		}
	}
}

func makeReady(ctx context.Context, kube kubernetes.Interface, pod *corev1.Pod) error {
	pods := kube.CoreV1().Pods(pod.Namespace)
	if err := pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Name: "node"}}, create); err != nil {
		return err
	}
	now := metav1.Now()
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, ObservedGeneration: pod.Generation, StartTime: &now,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "app", Image: pod.Spec.Containers[0].Image, Ready: true, Started: ptr.To(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		}},
	}
	pod.ResourceVersion = ""
	_, err := pods.UpdateStatus(ctx, pod, update)
	return err
}

// The real controller creates the pods of a PodManager, and then writes nothing for an hour.
func TestController(t *testing.T) {
	began := time.Now()
	simulate(t, nil, func(t *testing.T, s sim) {
		_, ctx := ktesting.NewTestContext(t)
		manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodManagerSpec{Replicas: ptr.To[int32](3), Image: "nginx:1.29"}}
		if _, err := s.managers.AppsV1().PodManagers("default").Create(ctx, manager, create); err != nil {
			t.Fatal(err)
		}
		stop := startController(ctx, t, s.Server)
		nodeCtx, stopNode := context.WithCancel(ctx)
		go tend(nodeCtx, t, s.kube)
		time.Sleep(2 * time.Minute) // the rollout has completed by then
		synctest.Wait()
		live, err := s.managers.AppsV1().PodManagers("default").Get(ctx, "web", get)
		if err != nil {
			t.Fatal(err)
		}
		if !meta.IsStatusConditionTrue(live.Status.Conditions, v1.ConditionReady) || live.Status.AvailableReplicas != 3 {
			t.Errorf("the status is %+v", live.Status)
		}
		calm := s.Version()
		time.Sleep(time.Hour)
		if writes := s.Version() - calm; writes > 0 {
			t.Errorf("%d writes while all was calm", writes)
		}
		stop()
		stopNode()
	})
	t.Logf("the simulation took %v", time.Since(began))
}
