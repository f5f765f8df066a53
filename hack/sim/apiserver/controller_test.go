package apiserver_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/controller"
	"github.com/mycompany/podmanager/pkg/controller/access"
	"github.com/mycompany/podmanager/pkg/controller/executor"
	"github.com/mycompany/podmanager/pkg/controller/source"
	"github.com/mycompany/podmanager/pkg/generated/informers/externalversions"
)

// startController starts the controller as cmd/controller does. stop stops it, and returns when all its goroutines have ended.
func startController(ctx context.Context, t *testing.T, server *apiserver.Server) (stop func()) {
	t.Helper()
	config := configOf(server, "controller", nil)
	kube, err1 := kubernetes.NewForConfig(config)
	managers, err2 := source.NewManagerClient(config)
	partial, err3 := metadata.NewForConfig(config)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	clients := source.Clients{Kube: kube, PodManagers: managers, Metadata: partial, Events: kube, Statuses: managers}
	scope := source.NewScope(clients, kubeinformers.NewSharedInformerFactory(kube, 0), externalversions.NewSharedInformerFactory(nil, 0),
		metav1.NamespaceAll, v1.LabelManager, labels.Everything())
	scopes := source.NewScopes(kube, []source.Scope{scope}, access.All)
	c, err := controller.New(ctx, clients, []source.Scope{scope}, controller.Settings{Lanes: executor.NewLanes()})
	if err != nil {
		t.Fatal(err)
	}
	workCtx, stopWork := context.WithCancel(ctx)
	scopesCtx, stopScopes := context.WithCancel(ctx)
	var working, watching sync.WaitGroup
	watching.Go(func() { scopes.Run(scopesCtx) })
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

// makeReady does what a scheduler and a kubelet do to each new pod.
func makeReady(ctx context.Context, t *testing.T, kube kubernetes.Interface) {
	t.Helper()
	pods, err := kube.CoreV1().Pods("").List(ctx, list)
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != "" {
			continue
		}
		err := kube.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Name: "node"}}, create)
		if err != nil {
			t.Fatal(err)
		}
		now := metav1.Now()
		pod.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, ObservedGeneration: pod.Generation, StartTime: &now,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "app", Image: pod.Spec.Containers[0].Image, Ready: true, Started: ptr.To(true),
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
			}},
		}
		pod.ResourceVersion = ""
		if _, err := kube.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, &pod, update); err != nil {
			t.Fatal(err)
		}
	}
}

// The real controller brings a PodManager to its pods, and then leaves everything alone for an hour.
func TestController(t *testing.T) {
	began := time.Now()
	simulate(t, nil, func(t *testing.T, s sim) {
		_, ctx := ktesting.NewTestContext(t)
		manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodManagerSpec{Replicas: ptr.To[int32](3), Image: "nginx:1.29"}}
		if _, err := s.managers.AppsV1().PodManagers("default").Create(ctx, manager, create); err != nil {
			t.Fatal(err)
		}
		stop := startController(ctx, t, s.Server)
		for range 5 {
			time.Sleep(time.Second)
			makeReady(ctx, t, s.kube)
		}
		time.Sleep(2 * time.Minute) // the revision is good by then
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
	})
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	} else {
		t.Logf("it took %v", took)
	}
}
