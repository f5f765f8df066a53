package states

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
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

const root = "../../../"

// namespace is the one that a new server has.
const namespace = "default"

// podManagers is the custom resource, parsed once for all tests.
var podManagers = sync.OnceValues(func() (*apiserver.Resource, error) {
	definition, err := os.ReadFile(root + "artifacts/crd.yaml")
	if err != nil {
		return nil, err
	}
	return apiserver.ParseCRD(definition)
})

// simulate runs a test in a cluster of its own, in a synctest bubble. The controller runs until the test calls stop.
func simulate(t *testing.T, test func(s *space)) {
	t.Helper()
	custom, err := podManagers()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(apiserver.Config{Rand: rand.New(rand.NewPCG(1, 1)), Custom: []*apiserver.Resource{custom}})
		server.Admit(refuseUnknownVolumes)
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
		var tending sync.WaitGroup
		defer tending.Wait()
		defer cancel()
		s, err := newSpace(ctx, t, server)
		if err != nil {
			t.Fatal(err)
		}
		stop, err := s.start()
		if err != nil {
			t.Fatal(err)
		}
		s.stop = sync.OnceFunc(stop)
		defer s.stop()
		tending.Go(func() { s.tend(ctx) })
		test(s)
	})
}

// start starts the controller as cmd/controller does. stop stops it and returns once all its goroutines have ended.
func (s *space) start() (stop func(), err error) {
	config := configOf(s.server, "controller")
	kube, err1 := kubernetes.NewForConfig(config)
	managers, err2 := source.NewManagerClient(config)
	partial, err3 := metadata.NewForConfig(config)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	clients := source.Clients{Kube: kube, PodManagers: managers, Metadata: partial, Events: kube, Statuses: managers,
		Nodes: source.NewNodes(kube, clock.RealClock{})}
	scope := source.NewScope(clients, 0, metav1.NamespaceAll, v1.LabelManager, labels.Everything())
	scopes := source.NewScopes(kube, []source.Scope{scope}, access.All)
	c, err := controller.New(s.ctx, clients, []source.Scope{scope}, inplace.Capabilities{CanResizeAndDrain: true}, plan.SpreadAuto, clock.RealClock{})
	if err != nil {
		return nil, err
	}
	workCtx, stopWork := context.WithCancel(s.ctx)
	scopesCtx, stopScopes := context.WithCancel(s.ctx)
	var working, watching sync.WaitGroup
	watching.Go(func() {
		if err := scopes.Run(scopesCtx); err != nil {
			s.t.Error(err)
		}
	})
	working.Go(func() {
		if err := c.Run(workCtx, 1); err != nil {
			s.t.Error(err)
		}
	})
	return func() {
		stopWork()
		working.Wait()
		c.Shutdown()
		stopScopes()
		watching.Wait()
	}, nil
}

func configOf(server *apiserver.Server, name string) *rest.Config {
	return &rest.Config{Host: "http://simulation", Transport: server.Client(name, nil), QPS: -1}
}

// refuseUnknownVolumes refuses a pod that mounts a volume which it does not have, as the API server does.
func refuseUnknownVolumes(_ context.Context, review *apiserver.Review) error {
	pod, isPod := review.Object.(*corev1.Pod)
	if !isPod || review.Operation != apiserver.Create {
		return nil
	}
	known := map[string]bool{}
	for _, volume := range pod.Spec.Volumes {
		known[volume.Name] = true
	}
	for i, container := range pod.Spec.Containers {
		for j, mount := range container.VolumeMounts {
			if !known[mount.Name] {
				path := field.NewPath("spec", "containers").Index(i).Child("volumeMounts").Index(j).Child("name")
				return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), pod.Name, field.ErrorList{field.NotFound(path, mount.Name)})
			}
		}
	}
	return nil
}

// tend does the work of the scheduler and the kubelet for all pods until ctx is done. A terminating pod stays if the test holds pods.
func (s *space) tend(ctx context.Context) {
	w, err := s.kube.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{TimeoutSeconds: ptr.To[int64](100_000)})
	if err != nil {
		if ctx.Err() == nil {
			s.t.Error(err)
		}
		return
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-w.ResultChan():
			if pod, isPod := event.Object.(*corev1.Pod); isPod && event.Type != watch.Deleted {
				s.tendPod(ctx, pod)
			}
		}
	}
}

func (s *space) tendPod(ctx context.Context, pod *corev1.Pod) {
	switch {
	case pod.DeletionTimestamp != nil && !s.holdsPods.Load():
		_ = s.kube.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	case pod.DeletionTimestamp == nil && pod.Spec.NodeName == "" && len(pod.Status.Conditions) == 0:
		err := s.run(ctx, pod)
		if isGone := apierrors.IsNotFound(err) || apierrors.IsConflict(err); err != nil && !isGone && ctx.Err() == nil {
			s.t.Error(err)
		}
	}
}

// The tags that the kubelet understands. Containers of all other images become ready.
const (
	tagMissing    = ":does-not-exist"
	tagNeverReady = ":never-ready"
)

// run schedules a pod and starts its containers. Of the pods with a host port, only the first one fits on the node.
func (s *space) run(ctx context.Context, pod *corev1.Pod) error {
	pods, now := s.kube.CoreV1().Pods(namespace), metav1.NewTime(time.Now())
	container := pod.Spec.Containers[0]
	if len(container.Ports) > 0 && container.Ports[0].HostPort > 0 && !s.hostPort.CompareAndSwap(false, true) {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: now,
			Message: "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
		}}
		pod.ResourceVersion = ""
		_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Name: "node"}}
	if err := pods.Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	status := corev1.ContainerStatus{
		Name: container.Name, Image: container.Image, Ready: true, Started: ptr.To(true),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ObservedGeneration: pod.Generation, StartTime: &now}
	ready := corev1.ConditionTrue
	switch {
	case strings.HasSuffix(container.Image, tagNeverReady):
		status.Ready, ready = false, corev1.ConditionFalse
	case strings.HasSuffix(container.Image, tagMissing):
		status.Ready, status.Started, ready, pod.Status.Phase = false, ptr.To(false), corev1.ConditionFalse, corev1.PodPending
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: now}}
	pod.Status.ContainerStatuses, pod.ResourceVersion = []corev1.ContainerStatus{status}, ""
	_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}
