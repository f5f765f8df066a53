//go:build e2e

package node

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// operation is what is done to a pod.
type operation struct {
	// pod makes the pod differ from the plain one. starts reports whether the pod has started; if it is nil, the pod has to serve.
	pod    func(*actor, *corev1.Pod)
	starts func(reading) bool
	steps  []step
	// isRare means that the real node hardly ever shows some of the simulation's states.
	isRare bool
}

// step is a change, and the state of the pod once the kubelet has carried it out. do returns the pod as it was written; nil if it changes another
// object.
type step struct {
	do    func(*actor) (*corev1.Pod, error)
	until func(reading) bool
}

// operations returns the controller's operations, and what happens to pods on their own.
func operations() map[string]operation {
	return map[string]operation{
		"start":                      {},
		"start with a probe":         {pod: probed},
		"start with a missing image": {pod: missingFromTheStart, starts: waits("ImagePullBackOff"), steps: []step{{toImage("1"), serves}}},
		"deletion":                   {steps: []step{{remove, func(r reading) bool { return r.gone }}}},
		"gate": {pod: gated, starts: unready("ReadinessGatesNotReady"), steps: []step{
			{setGate("True"), serves}, {setGate("False"), unready("ReadinessGatesNotReady")},
			{toImage("2"), func(r reading) bool { return r.container.restarts == 1 }}, {setGate("True"), serves},
		}},

		"image":                       {steps: []step{{toImage("2"), restarted(1)}}},
		"image with a probe":          {pod: probed, steps: []step{{toImage("2"), restarted(1)}}},
		"image that is never ready":   {pod: probed, steps: []step{{toImage("never-ready"), unready("ContainersNotReady")}}},
		"image that is missing":       {steps: []step{{to(missingImage), waits("ImagePullBackOff")}, {toImage("2"), restarted(1)}}},
		"image that crashes":          {steps: []step{{toImage("crash-later"), backsOff}, {toImage("2"), restarted(4)}}},
		"image that crashes at once":  {steps: []step{{toImage("crash"), backsOff}}, isRare: true},
		"image that crashes for good": {pod: neverAgain, steps: []step{{toImage("crash-later"), func(r reading) bool { return r.phase == "Failed" }}}},

		"CPU":                   {pod: sized(keep, keep), steps: []step{{toSize(200, 64), serves}}},
		"CPU with a restart":    {pod: sized(restart, keep), steps: []step{{toSize(200, 64), restarted(1)}}},
		"CPU and a probe":       {pod: both(probed, sized(restart, keep)), steps: []step{{toSize(200, 64), restarted(1)}}},
		"memory":                {pod: sized(keep, keep), steps: []step{{toSize(100, 96), serves}}},
		"memory with a restart": {pod: sized(keep, restart), steps: []step{{toSize(100, 96), restarted(1)}}},
		"deferred resize": {pod: both(delayed("deferred"), requesting), steps: []step{
			{toMostMemory, pending("Deferred")}, {makeRoom, serves}, {toMemory(64), serves},
		}},
		"resize, then image":                {pod: sized(keep, keep), steps: []step{{toSize(200, 96), serves}, {toImage("2"), restarted(1)}}},
		"resize with a restart, then image": {pod: sized(restart, keep), steps: []step{{toSize(200, 64), restarted(1)}, {toImage("2"), restarted(2)}}},
	}
}

func serves(r reading) bool { return r.isServing() }

// restarted returns a function that reports whether the pod serves after this many restarts.
func restarted(times int32) func(reading) bool {
	return func(r reading) bool { return r.isServing() && r.container.restarts == times }
}

// waits returns a function that reports whether the container waits for the reason.
func waits(reason string) func(reading) bool {
	return func(r reading) bool { return r.observed && r.container.state == "waiting "+reason }
}

// backsOff reports whether the container is in its second backoff. The kubelet reports the first one only when it ends, if at all. The second one
// is long enough to be reported, and for a change.
func backsOff(r reading) bool { return waits("CrashLoopBackOff")(r) && r.container.restarts == 3 }

// unready returns a function that reports whether the pod is not ready for the reason.
func unready(reason string) func(reading) bool {
	return func(r reading) bool { return r.observed && strings.HasPrefix(r.ready, "False "+reason) }
}

// pending returns a function that reports whether the condition PodResizePending has the reason.
func pending(reason string) func(reading) bool {
	return func(r reading) bool { return r.observed && r.resize == "PodResizePending True "+reason }
}

func both(first, second func(*actor, *corev1.Pod)) func(*actor, *corev1.Pod) {
	return func(a *actor, pod *corev1.Pod) {
		first(a, pod)
		second(a, pod)
	}
}

// probed gives the container a readiness probe. The probe begins late enough for the unready state to be observed, and allows a slow answer. It also
// tolerates many failures: on a busy machine any container may take seconds to end, and fail the probe in the meantime, which is not part of the
// operation. A new container is not ready before its first success in any case.
func probed(_ *actor, pod *corev1.Pod) {
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
		InitialDelaySeconds: 2, PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: 60,
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(8080)}},
	}
}

// missingImage is an image that cannot be pulled. No program listens at the address, so the error comes at once.
const missingImage = "127.0.0.1:1/missing:does-not-exist"

func missingFromTheStart(_ *actor, pod *corev1.Pod) { pod.Spec.Containers[0].Image = missingImage }

func neverAgain(_ *actor, pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever }

func gated(_ *actor, pod *corev1.Pod) {
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: v1.InPlaceReady}}
}

// simulatedResize is the annotation that keeps simulated nodes from resizing a pod.
const simulatedResize = "simulate.podmanager/resize"

func delayed(how string) func(*actor, *corev1.Pod) {
	return func(_ *actor, pod *corev1.Pod) { pod.Annotations[simulatedResize] = how }
}

// amounts returns quantities of CPU and memory, given in millicores and MiB.
func amounts(cpu, memory int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory<<20, resource.BinarySI),
	}
}

// sized gives the container limits and resize policies.
func sized(cpu, memory corev1.ResourceResizeRestartPolicy) func(*actor, *corev1.Pod) {
	return func(_ *actor, pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Limits = amounts(100, 64)
		pod.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{
			{ResourceName: corev1.ResourceCPU, RestartPolicy: cpu}, {ResourceName: corev1.ResourceMemory, RestartPolicy: memory},
		}
	}
}

func requesting(_ *actor, pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Requests = amounts(10, 64)
}

// patch changes the pod, or a subresource of it.
func (a *actor) patch(change any, subresource ...string) (*corev1.Pod, error) {
	data, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	return shared.kube.CoreV1().Pods(a.space).Patch(a.ctx, a.name, types.StrategicMergePatchType, data, metav1.PatchOptions{}, subresource...)
}

func container(fields map[string]any) map[string]any {
	fields["name"] = "web"
	return map[string]any{"spec": map[string]any{"containers": []any{fields}}}
}

func to(image string) func(*actor) (*corev1.Pod, error) {
	return func(a *actor) (*corev1.Pod, error) { return a.patch(container(map[string]any{"image": image})) }
}

func toImage(tag string) func(*actor) (*corev1.Pod, error) {
	return func(a *actor) (*corev1.Pod, error) { return to(a.image(tag))(a) }
}

func toSize(cpu, memory int64) func(*actor) (*corev1.Pod, error) {
	resources := map[string]any{"limits": amounts(cpu, memory), "requests": amounts(cpu, memory)}
	return func(a *actor) (*corev1.Pod, error) {
		return a.patch(container(map[string]any{"resources": resources}), "resize")
	}
}

func setGate(status corev1.ConditionStatus) func(*actor) (*corev1.Pod, error) {
	return func(a *actor) (*corev1.Pod, error) {
		condition := map[string]any{"type": v1.InPlaceReady, "status": status, "lastTransitionTime": metav1.Now()}
		return a.patch(map[string]any{"status": map[string]any{"conditions": []any{condition}}}, "status")
	}
}

func remove(a *actor) (*corev1.Pod, error) {
	return nil, shared.kube.CoreV1().Pods(a.space).Delete(a.ctx, a.name, metav1.DeleteOptions{})
}

// toMostMemory requests most of the node's memory while another pod has requested half of it.
func toMostMemory(a *actor) (*corev1.Pod, error) {
	node, err := shared.kube.CoreV1().Nodes().Get(a.ctx, realNode, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	all := node.Status.Allocatable.Memory().Value() >> 20
	if a.place.kind == onReal.kind {
		other := a.pod()
		other.Name += "-other"
		other.Spec.Containers[0].Resources.Requests = amounts(1, all/2)
		if err := a.run(other); err != nil {
			return nil, err
		}
	}
	return toMemory(all * 3 / 4)(a)
}

// toMemory changes the memory request. There are no limits.
func toMemory(memory int64) func(*actor) (*corev1.Pod, error) {
	return func(a *actor) (*corev1.Pod, error) {
		return a.patch(container(map[string]any{"resources": map[string]any{"requests": amounts(10, memory)}}), "resize")
	}
}

// run creates a pod and waits until it runs.
func (a *actor) run(pod *corev1.Pod) error {
	pods := shared.kube.CoreV1().Pods(a.space)
	if _, err := pods.Create(a.ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	for {
		seen, err := pods.Get(a.ctx, pod.Name, metav1.GetOptions{})
		if err != nil || seen.Status.Phase == corev1.PodRunning {
			return err
		}
		select {
		case <-a.ctx.Done():
			return fmt.Errorf("%s does not run: %+v", pod.Name, seen.Status)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// makeRoom deletes the other pod, or lets the simulated node have room.
func makeRoom(a *actor) (*corev1.Pod, error) {
	if a.place.kind == onReal.kind {
		return nil, shared.kube.CoreV1().Pods(a.space).Delete(a.ctx, a.name+"-other", metav1.DeleteOptions{})
	}
	return a.patch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{simulatedResize: nil}}})
}
