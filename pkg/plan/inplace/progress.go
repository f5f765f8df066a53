package inplace

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/compare"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// UpdatedAt returns when the pod was last updated in place, or when an interrupted update began, whichever is later.
func UpdatedAt(pod *corev1.Pod) time.Time {
	at := CompletedRecord(pod).At
	if begun := begunRecord(pod).At; begun.After(at) {
		return begun
	}
	return at
}

// RevisedAt returns when the pod was updated in place to its present revision, or zero if it was created from that revision.
func RevisedAt(pod *corev1.Pod) time.Time {
	last := CompletedRecord(pod)
	if last.Restored {
		return last.RevisionAt
	}
	return last.At
}

// IsUpdating reports whether the kubelet has yet to carry out an update in place.
func IsUpdating(pod *corev1.Pod) bool {
	if !hasRecord(pod) || CompletedRecord(pod).Revision == "" && !IsInterrupted(pod) {
		return false
	}
	return !podstate.HasObserved(pod) || podstate.IsResizing(pod) || AwaitsRestart(pod)
}

// AwaitsRestart reports whether the kubelet has yet to restart a container for the update by which the pod got its revision.
func AwaitsRestart(pod *corev1.Pod) bool { return awaitsRestart(pod, CompletedRecord(pod)) }

func awaitsRestart(pod *corev1.Pod, record Record) bool {
	for name, before := range record.Containers {
		if !IsRestarted(pod, name, before) {
			return true
		}
	}
	return false
}

// maxResizeTime is how long an update that began with a resize may wait before the resize is reverted. The update waits for a restart, which the
// kubelet may report later than the resize, and for other pods to become available. Both usually take seconds.
const maxResizeTime = 30 * time.Second

// isBeingResized reports whether the kubelet has yet to carry out a resize that it has seen, and the resize is not stuck. The duration is the time
// until this may change without an event; zero means never.
func isBeingResized(pod *corev1.Pod, now time.Time) (bool, time.Duration) {
	if podstate.ResizeTrouble(pod) != "" {
		return false, 0
	}
	wait := untilResized(pod, now)
	if begun := begunRecord(pod); awaitsRestart(pod, begun) {
		wait = max(0, begun.At.Add(maxResizeTime).Sub(now))
	}
	return podstate.IsResizing(pod) || wait > 0, wait
}

// untilResized returns how much longer to wait until the containers of a resized pod have the CPU and memory of its spec, or zero if they have
// them. A kubelet may report that it has seen a resize before it reports that the resize is pending or in progress. maxResizeTime limits the wait,
// because some container runtimes round amounts.
func untilResized(pod *corev1.Pod, now time.Time) time.Duration {
	last := CompletedRecord(pod)
	if IsInterrupted(pod) {
		last = lastRecord(pod)
	}
	if !last.Begun && !last.Resized || podstate.ResizeTrouble(pod) != "" || !podstate.HasOtherResources(pod) {
		return 0
	}
	return max(0, last.At.Add(maxResizeTime).Sub(now))
}

// UntilRestored returns how much longer an update of the pod to this revision, which has begun, may wait before it is reverted. It returns zero if
// no such update has begun.
func UntilRestored(pod *corev1.Pod, revision string, now time.Time) time.Duration {
	if begun := begunRecord(pod); begun.Refused == "" && begun.Revision == revision {
		return max(0, begun.At.Add(maxResizeTime).Sub(now))
	}
	return 0
}

// IsResizeStuck reports whether the kubelet has carried out an update except for a resize that it defers, rejects or fails to do. Such a pod
// serves as before.
func IsResizeStuck(pod *corev1.Pod) bool {
	if !podstate.HasObserved(pod) || podstate.ResizeTrouble(pod) == "" {
		return false
	}
	for name, before := range CompletedRecord(pod).Containers {
		if before.hasOtherImage(podstate.ContainerNamed(&pod.Spec, name)) && !IsRestarted(pod, name, before) {
			return false
		}
	}
	return true
}

// startupLag is the maximum delay until the API server learns that a startup probe has not succeeded, counted from the container's start plus the
// probe's period. The kubelet needs time to see the new container and to send its status, several seconds each on a busy node.
const startupLag = 15 * time.Second

// defaultPeriod is the period of a probe that does not set one.
const defaultPeriod = 10 * time.Second

// StatusTrustDelay returns the delay until we trust the kubelet's report that it has carried out an update in place, or zero if we already do.
func StatusTrustDelay(pod *corev1.Pod, now time.Time) time.Duration {
	if !hasRecord(pod) {
		return 0
	}
	return max(untilStarted(pod, now), untilResized(pod, now))
}

// untilStarted returns the delay until we trust the kubelet's report that the containers have started after an update in place. From Kubernetes
// 1.35 on, a kubelet reports a restarted container as started because the old one was, and hence the pod as ready, until the startup probe is due
// for the first time.
func untilStarted(pod *corev1.Pod, now time.Time) (wait time.Duration) {
	for status := range podstate.ContainerStatuses(pod) {
		wait = max(wait, untilContainerStarted(pod, status, now))
	}
	return wait
}

// untilContainerStarted is untilStarted for one container.
func untilContainerStarted(pod *corev1.Pod, status *corev1.ContainerStatus, now time.Time) time.Duration {
	_, found := beforeUpdate(pod, status.Name) // a resize may restart a container before the update is complete
	other := CompletedRecord(pod).Others[status.Name]
	isForUpdate := found || other.Starting && other.Restarts == status.RestartCount
	container, running := podstate.ContainerNamed(&pod.Spec, status.Name), status.State.Running
	if !isForUpdate || running == nil || status.RestartCount == 0 || container == nil || container.StartupProbe == nil {
		return 0 // only a restarted container can be reported as started because the old one was
	}
	period := cmp.Or(time.Duration(container.StartupProbe.PeriodSeconds)*time.Second, defaultPeriod)
	started := podstate.ServerTime(pod, running.StartedAt.Time)
	return max(0, started.Add(period+startupLag).Sub(now))
}

// MayRestart reports whether the kubelet may restart a container of the pod for an update at any time.
func MayRestart(pod *corev1.Pod) bool {
	if !hasRecord(pod) {
		return false
	}
	if len(begunRecord(pod).Containers) > 0 {
		return true
	}
	for name, before := range CompletedRecord(pod).Containers {
		if !IsRestarted(pod, name, before) || before.Had != nil && podstate.IsResizing(pod) {
			return true
		}
	}
	return false
}

// IsRestarted reports whether the kubelet has restarted the container for the update, or has no reason to. The kubelet restarts a container
// whenever the name of its image changes, even if both names refer to the same image. The name in the status does not help, because container
// runtimes normalize it.
func IsRestarted(pod *corev1.Pod, name string, before ContainerBefore) bool {
	if !before.Optional && !before.needsRestart(podstate.ContainerNamed(&pod.Spec, name)) {
		return true
	}
	for status := range podstate.ContainerStatuses(pod) {
		if status.Name != name {
			continue
		}
		if before.Optional { // the container never ran the image that was reverted, or the kubelet has restarted it twice: with that image, and back
			return before.From == "" || status.ImageID == before.ImageID || before.ImageID == "" || int64(status.RestartCount) > int64(before.Restarts)+1
		}
		return status.RestartCount > before.Restarts || (status.ImageID != before.ImageID && status.ImageID != "")
	}
	return false
}

// needsRestart reports whether the pod's spec gives the container something that requires a restart. What the update sent does not matter:
// admission may have mapped the image to the one that the container already runs, and may have kept its CPU and memory.
func (b ContainerBefore) needsRestart(container *corev1.Container) bool {
	return b.hasOtherImage(container) || container != nil && b.Had != nil && compare.HasOtherAmounts(container.Resources, *b.Had)
}

func (b ContainerBefore) hasOtherImage(container *corev1.Container) bool {
	return container != nil && b.From != "" && container.Image != b.From
}
