package inplace

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/compare"
	"github.com/mycompany/podmanager/pkg/plan/history"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// Update is one step of updating a pod in place.
type Update struct {
	Pod  *corev1.Pod
	Step Step
	// From is the pod's revision, and To is the revision that it gets. In StepRestore both are the pod's revision; gate steps may have neither.
	From, To *history.Revision
}

// Step is what an Update does to the pod.
type Step string

// StepDrain, StepResize, StepUpdate and StepOpen follow each other. StepDrain and StepOpen are needed only with a grace period, and StepResize only
// for updates that change both CPU or memory and an image. StepRestore stands alone.
const (
	// StepDrain closes the readiness gate, which takes the pod out of its Services.
	StepDrain Step = "Drain"
	// StepResize gives the pod the CPU and memory of the new revision. The images have to wait until the kubelet has resized the pod. If the
	// kubelet restarted a container for an image before that, it would start the container with its new limits inside the pod's old ones. The
	// kernel then rejects limits above the pod's (cgroup v1) or does not grant them (cgroup v2), and the kubelet does not resize a pod in a crash
	// loop.
	StepResize Step = "Resize"
	// StepUpdate gives the pod the new revision.
	StepUpdate Step = "Update"
	// StepOpen opens the readiness gate.
	StepOpen Step = "Open"
	// StepRestore reverts an interrupted update: it gives the pod the CPU and memory of the revision that it still has.
	StepRestore Step = "Restore"
)

// IsGateStep reports whether the step only closes or opens the readiness gate.
func (u Update) IsGateStep() bool { return u.Step == StepDrain || u.Step == StepOpen }

// Diff returns what the step changes in the pod's containers.
func (u Update) Diff() compare.Diff {
	diff, _ := compare.Templates(u.From.Template(), u.To.Template())
	return DiffFor(u.Pod, diff)
}

// DiffFor returns what an update in place changes in this pod, where diff is what differs between the templates. If a VerticalPodAutoscaler sets the
// pod's CPU and memory, the update leaves them alone.
func DiffFor(pod *corev1.Pod, diff compare.Diff) compare.Diff {
	if podstate.IsSizedByVPA(pod) {
		diff.Resources = nil
	}
	return diff
}

// NeedsKubelet reports whether the kubelet has work to do for the update. If so, the pod's status will show when the work is done.
func (u Update) NeedsKubelet() bool {
	return u.Diff().NeedsKubelet()
}

// NextStep returns the next step towards the new revision. diff is the Diff of the whole update. If the step is empty, the update has to wait: for
// the returned time, or for the kubelet if that is zero.
func (u Update) NextStep(manager *v1.PodManager, means Capabilities, diff compare.Diff, now time.Time) (Step, time.Duration) {
	if !diff.NeedsKubelet() {
		return StepUpdate, 0
	}
	if step, wait := means.drainStep(manager, u.Pod, now); step != "" || wait > 0 {
		return step, wait
	}
	// Only one update at a time: the kubelet has to see the last one first. It usually sees even a broken update soon, unless it is gone.
	if !podstate.HasObserved(u.Pod) {
		return "", 0
	}
	// Without an observed generation, the pod's status would not show when the kubelet has resized the pod.
	if len(diff.Images) > 0 && u.Pod.Status.ObservedGeneration > 0 {
		if u.HasToResize(u.Pod, diff) {
			return StepResize, 0
		}
		if isResizing, wait := isBeingResized(u.Pod, now); isResizing {
			return "", wait
		}
	}
	return StepUpdate, 0
}

// HasToResize reports whether the CPU or memory in the pod's spec differ from what ResizePatch sets. diff is the Diff of the whole update.
func (u Update) HasToResize(pod *corev1.Pod, diff compare.Diff) bool {
	for name, amounts := range u.amounts(diff) {
		if own := resourcesOf(&pod.Spec, name); own != nil && compare.HasOtherAmounts(*own, compare.Resizable(amounts)) {
			return true
		}
	}
	return false
}

// resourcesOf returns the resources of a container, or of the pod itself.
func resourcesOf(spec *corev1.PodSpec, container string) *corev1.ResourceRequirements {
	if container == compare.OfPod {
		return spec.Resources
	}
	if own := podstate.ContainerNamed(spec, container); own != nil {
		return &own.Resources
	}
	return nil
}

// isResized reports whether StepResize has given the pod's spec the CPU and memory of the new revision.
func (u Update) isResized() bool {
	diff := u.Diff()
	return u.Step == StepUpdate && u.continuesInterrupted() && len(diff.Images) > 0 && !u.HasToResize(u.Pod, diff)
}

// amounts returns the CPU and memory that ResizePatch sets, by container. After an interrupted update, the pod's spec may have the CPU and memory
// of either revision, so they are set for all containers.
func (u Update) amounts(diff compare.Diff) map[string]corev1.ResourceRequirements {
	if !IsInterrupted(u.Pod) || podstate.IsSizedByVPA(u.Pod) {
		return diff.Resources
	}
	amounts := map[string]corev1.ResourceRequirements{}
	if own := u.To.Template().Spec.Resources; own != nil {
		amounts[compare.OfPod] = *own
	}
	for _, container := range u.To.Template().Spec.Containers {
		if all := compare.Resizable(container.Resources); len(all.Requests)+len(all.Limits) > 0 {
			amounts[container.Name] = all
		}
	}
	return amounts
}

// KeepsSizeOfVPA reports whether the pod was updated in place to the template without getting its CPU and memory, because a VerticalPodAutoscaler
// sets them.
func KeepsSizeOfVPA(pod *corev1.Pod, template *corev1.PodTemplateSpec) bool {
	if !podstate.IsSizedByVPA(pod) || CompletedRecord(pod).Revision == "" {
		return false
	}
	return slices.ContainsFunc(template.Spec.Containers, func(container corev1.Container) bool {
		own := podstate.ContainerNamed(&pod.Spec, container.Name)
		return own != nil && compare.HasOtherAmounts(own.Resources, compare.Resizable(container.Resources))
	})
}
