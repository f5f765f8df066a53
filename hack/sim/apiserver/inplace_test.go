package apiserver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/hack/sim/apiserver"
	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// mapImages acts like a webhook that maps all tags of an application to the same digest in a mirror.
func mapImages(_ context.Context, review *apiserver.Review) error {
	if review.Request.Resource.Name != "pods" || review.Operation == apiserver.Delete {
		return nil
	}
	pod := review.Object.(*corev1.Pod)
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Image = "mirror/app@sha256:1"
	}
	return nil
}

// keepResources acts like a policy that does not let a pod's CPU or memory change after creation.
func keepResources(_ context.Context, review *apiserver.Review) error {
	if review.Request.Resource.Name != "pods" || review.Request.Subresource != "resize" {
		return nil
	}
	review.Object.(*corev1.Pod).Spec.Containers = review.Old.(*corev1.Pod).DeepCopy().Spec.Containers
	return nil
}

// restartContainers does the kubelet's part of in-place updates until ctx is done: it restarts a container whose image has changed.
func restartContainers(ctx context.Context, t *testing.T, kube kubernetes.Interface) {
	w := must(kube.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{TimeoutSeconds: ptr.To[int64](100_000)}))
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-w.ResultChan():
			pod, isPod := event.Object.(*corev1.Pod)
			if !isPod || event.Type == watch.Deleted || pod.Spec.NodeName == "" || len(pod.Status.ContainerStatuses) == 0 || pod.Status.ObservedGeneration == pod.Generation {
				continue
			}
			status := &pod.Status.ContainerStatuses[0]
			if image := pod.Spec.Containers[0].Image; image != status.Image {
				status.Image, status.RestartCount = image, status.RestartCount+1
			}
			pod.Status.ObservedGeneration, pod.ResourceVersion = pod.Generation, ""
			if _, err := kube.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, update); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}
}

// A webhook maps the new image to the one that the containers already run, or a policy keeps their CPU, so the kubelet has nothing to restart or
// nothing to resize. The update is complete once it is stored, and so is the next one, which reverts the change. Without a mapping, each update
// restarts every container once.
func TestChangedByAdmission(t *testing.T) {
	for name, test := range map[string]struct {
		hook     apiserver.Admission
		restarts int32
	}{
		"the image is mapped": {hook: mapImages},
		"the CPU is kept":     {hook: keepResources, restarts: 2},
		"nothing is changed":  {hook: func(context.Context, *apiserver.Review) error { return nil }, restarts: 2},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, nil, func(t *testing.T, s sim) {
				_, ctx := ktesting.NewTestContext(t)
				s.Admit(test.hook)
				stop := startController(ctx, t, s.Server)
				nodeCtx, stopNode := context.WithCancel(ctx)
				go tend(nodeCtx, t, s.kube)
				go restartContainers(nodeCtx, t, s.kube)
				client := s.managers.AppsV1().PodManagers("default")
				must(client.Create(ctx, inPlace("app:1", "1"), create))
				for _, template := range []*v1.PodManager{inPlace("app:1", "1"), inPlace("app:2", "2"), inPlace("app:1", "1")} {
					manager := must(client.Get(ctx, "web", get))
					manager.Spec = template.Spec
					must(client.Update(ctx, manager, update))
					time.Sleep(3 * time.Minute)
					synctest.Wait()
					live := must(client.Get(ctx, "web", get))
					if !meta.IsStatusConditionTrue(live.Status.Conditions, v1.ConditionReady) || live.Status.UpdatedReplicas != 3 {
						t.Errorf("%s: the status is %+v", template.Spec.Template.Spec.Containers[0].Image, live.Status)
					}
				}
				for _, pod := range must(s.pods().List(ctx, list)).Items {
					if got := pod.Status.ContainerStatuses[0].RestartCount; got != test.restarts {
						t.Errorf("%s: %d restarts, want %d", pod.Name, got, test.restarts)
					}
				}
				stop()
				stopNode()
			})
		})
	}
}

// inPlace returns a PodManager whose pods are updated in place, one at a time.
func inPlace(image, cpu string) *v1.PodManager {
	manager := &v1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodManagerSpec{Replicas: ptr.To[int32](3)}}
	manager.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "app", Image: image, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resourceOf(cpu)}},
	}}}}
	manager.Spec.UpdateStrategy = v1.UpdateStrategy{RollingUpdate: &v1.RollingUpdate{
		PodUpdatePolicy: v1.InPlaceOnly, MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(1)),
	}}
	return manager
}
