package inplace

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/mycompany/podmanager/pkg/plan/compare"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// UpdatedAt is when the pod was last updated in place, or when an interrupted update began, whichever is later.
func UpdatedAt(pod *corev1.Pod) time.Time {
	at := CompletedRecord(pod).At
	if last := lastRecord(pod); last.Begun && last.At.After(at) {
		return last.At
	}
	return at
}

// IsUpdating tells whether the kubelet has yet to carry out an update in place.
func IsUpdating(pod *corev1.Pod) bool {
	if !hasRecord(pod) {
		return false
	}
	record := CompletedRecord(pod)
	if record.Revision == "" && !IsInterrupted(pod) {
		return false
	}
	return !podstate.HasObserved(pod) || podstate.IsResizing(pod) || AwaitsRestart(pod)
}

// AwaitsRestart tells whether the kubelet has yet to restart a container for the update by which the pod got its revision.
func AwaitsRestart(pod *corev1.Pod) bool {
	for name, before := range CompletedRecord(pod).Containers {
		if !IsRestarted(pod, name, before) && !isResizeReverted(pod, name, before) {
			return true
		}
	}
	return false
}

// isResizeReverted tells whether a later update, which has begun, has reverted the container's CPU and memory in the pod's spec before
// the kubelet resized the container: the kubelet then has no reason to restart it.
func isResizeReverted(pod *corev1.Pod, name string, before ContainerBefore) bool {
	last, container := lastRecord(pod), podstate.ContainerNamed(&pod.Spec, name)
	had := last.Containers[name].Had
	return last.Begun && before.From == "" && had != nil && !isUnknown(had) && container != nil &&
		equality.Semantic.DeepEqual(compare.Resizable(container.Resources), *had)
}

// maxResizeTime is how long an update that has begun with a resize may wait for what usually takes seconds. It may wait for a restart: the
// kubelet may report the resize as done before it reports the restart, but whether there is one at all, nobody can tell after interrupted
// updates. And it may wait for another pod to become available, before the resize is reverted.
const maxResizeTime = 30 * time.Second

// isBeingResized tells whether the kubelet has yet to carry out a resize, and nothing holds it up. The duration is when to look again
// without an event; zero for never.
func isBeingResized(pod *corev1.Pod, now time.Time) (bool, time.Duration) {
	last := lastAccepted(pod)
	switch {
	case !podstate.HasObserved(pod):
		return last.Begun || last.Resized, 0
	case podstate.ResizeTrouble(pod) != "":
		return false, 0
	case podstate.IsResizing(pod):
		return true, 0
	}
	if wait := untilResized(pod, now); wait > 0 {
		return true, wait
	}
	wait := last.At.Add(maxResizeTime).Sub(now)
	for status := range podstate.ContainerStatuses(pod) {
		before, found := last.Containers[status.Name]
		if last.Begun && found && wait > 0 && !IsRestarted(pod, status.Name, before) {
			return true, wait
		}
	}
	return false, 0
}

// hasUnfinishedResize tells whether the kubelet has yet to carry out a resize, whether or not something holds it up.
func hasUnfinishedResize(pod *corev1.Pod) bool {
	last := lastAccepted(pod)
	return podstate.IsResizing(pod) || !podstate.HasObserved(pod) && (last.Begun || last.Resized)
}

// untilResized is how long a pod that was resized may wait until its containers have the CPU and memory of its spec; zero if they have.
// A kubelet may report that it has seen a resize before it reports that the resize is pending or in progress. maxResizeTime bounds what
// container runtimes do that round amounts.
func untilResized(pod *corev1.Pod, now time.Time) time.Duration {
	last := lastAccepted(pod)
	if !last.Begun && !last.Resized || podstate.ResizeTrouble(pod) != "" || !podstate.HasOtherResources(pod) {
		return 0
	}
	return max(0, last.At.Add(maxResizeTime).Sub(now))
}

// UntilRestored is how long an update of the pod to this revision, which has begun, may wait before it is to be reverted; zero if the pod has
// begun none.
func UntilRestored(pod *corev1.Pod, revision string, now time.Time) time.Duration {
	if last := lastRecord(pod); last.Begun && last.Refused == "" && last.Revision == revision {
		return max(0, last.At.Add(maxResizeTime).Sub(now))
	}
	return 0
}

// IsResizeHeldUp tells whether the kubelet has carried out an update except for a resize, which it defers, rejects or fails to do. Such a pod
// serves as before.
func IsResizeHeldUp(pod *corev1.Pod) bool {
	if !podstate.HasObserved(pod) || podstate.ResizeTrouble(pod) == "" {
		return false
	}
	for name, before := range CompletedRecord(pod).Containers {
		if before.From != "" && !IsRestarted(pod, name, before) {
			return false
		}
	}
	return true
}

// startupLag is how much later than a container's start and the period of its startup probe the API server may get to know that the probe
// has not succeeded: the kubelet needs a moment to see the new container, and another to send its status.
const startupLag = 5 * time.Second

// maxStartLag is how long after the update a container's start, as the kubelet tells it, is believed.
const maxStartLag = 2 * time.Minute

// defaultPeriod is how often a probe runs that does not say so.
const defaultPeriod = 10 * time.Second

// UntilBelieved is how long it is until the kubelet is to be believed that it has carried out an update in place; zero if it is.
func UntilBelieved(pod *corev1.Pod, now time.Time) time.Duration {
	if !hasRecord(pod) {
		return 0
	}
	return max(untilStarted(pod, now), untilResized(pod, now))
}

// untilStarted is how long it is until the kubelet is to be believed that the containers of a pod that was updated in place have started.
// A kubelet from Kubernetes 1.35 on says of a restarted container that it has started, because the old one had, and so that the pod is
// ready, until the startup probe is due for the first time. maxStartLag bounds what a node's clock can do to it.
func untilStarted(pod *corev1.Pod, now time.Time) (wait time.Duration) {
	for status := range podstate.ContainerStatuses(pod) {
		_, found := CompletedRecord(pod).Containers[status.Name]
		container, running := podstate.ContainerNamed(&pod.Spec, status.Name), status.State.Running
		if !found || running == nil || container == nil || container.StartupProbe == nil {
			continue
		}
		period := cmp.Or(time.Duration(container.StartupProbe.PeriodSeconds)*time.Second, defaultPeriod)
		started := running.StartedAt.Time
		if latest := UpdatedAt(pod).Add(maxStartLag); started.After(latest) {
			started = latest
		}
		wait = max(wait, started.Add(period+startupLag).Sub(now))
	}
	return wait
}

// MayRestart tells whether the kubelet may restart a container of the pod for an update at any time.
func MayRestart(pod *corev1.Pod) bool {
	if !hasRecord(pod) {
		return false
	}
	if last := lastRecord(pod); last.Begun && len(last.Containers) > 0 {
		return true
	}
	for name, before := range CompletedRecord(pod).Containers {
		if !IsRestarted(pod, name, before) || before.Had != nil && podstate.IsResizing(pod) {
			return true
		}
	}
	return false
}

// IsRestarted tells whether the kubelet has restarted the container for the update, or has no reason to. The kubelet restarts a container
// whenever the name of its image changes, even if both names stand for the same image. The name in the status does not help: container
// runtimes normalise it.
func IsRestarted(pod *corev1.Pod, name string, before ContainerBefore) bool {
	for status := range podstate.ContainerStatuses(pod) {
		if status.Name != name {
			continue
		}
		if before.Optional { // the container never ran the reverted image, or was restarted twice: with that image, and back again
			return before.From == "" || status.ImageID == before.ImageID || before.ImageID == "" || int64(status.RestartCount) > int64(before.Restarts)+1
		}
		return status.RestartCount > before.Restarts || (status.ImageID != before.ImageID && status.ImageID != "")
	}
	return false
}
