package inplace

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// beforeUpdate returns the state of a container before the last update that may restart it, interrupted or not, or false if there is none.
func beforeUpdate(pod *corev1.Pod, container string) (ContainerBefore, bool) {
	if before, found := begunRecord(pod).Containers[container]; found {
		return before, true
	}
	before, found := CompletedRecord(pod).Containers[container]
	return before, found
}

// Crashes returns how often a container was restarted since the last update in place, without the restarts that the update explains. If the last
// termination is excused, it returns 0: the status shows only the last termination, so earlier ones cannot be assessed any more.
func Crashes(pod *corev1.Pod, status *corev1.ContainerStatus) int32 {
	if podstate.IsExcused(pod, status, status.LastTerminationState.Terminated) {
		return 0
	}
	other := CompletedRecord(pod).Others[status.Name]
	explained := int64(other.Restarts)
	if other.Trouble == podstate.TroubleCrash {
		explained++ // the container had crashed before the update and had yet to be restarted
	}
	if before, found := beforeUpdate(pod, status.Name); found {
		explained = before.explainedRestarts(pod)
	}
	if podstate.IsSizedByVPA(pod) {
		explained += max(0, pod.Generation-1) // a resize restarts a container if its resizePolicy says so
	}
	return int32(max(0, int64(status.RestartCount)-max(0, explained)))
}

// explainedRestarts returns the highest restart count that a container can have after the update without having crashed. A container in a crash
// loop may have crashed once more before the kubelet observed the update.
func (b ContainerBefore) explainedRestarts(pod *corev1.Pod) int64 {
	count := int64(b.Restarts) + min(max(1, pod.Generation-b.Generation), math.MaxInt32)
	if b.Trouble == podstate.TroubleCrash {
		count++
	}
	if b.Had != nil && len(b.Had.Requests)+len(b.Had.Limits) == 0 {
		count++ // the kubelet had not finished an earlier resize, which may restart the container, too
	}
	return count
}

// AllCrashes returns the sum of the Crashes of all containers.
func AllCrashes(pod *corev1.Pod) (count int32) {
	for status := range podstate.ContainerStatuses(pod) {
		count += Crashes(pod, status)
	}
	return count
}

// HasOwnTrouble reports whether a container has trouble that counts against the pod's revision: it did not have the same trouble before the last
// update in place, and the update does not explain it.
func HasOwnTrouble(pod *corev1.Pod, status *corev1.ContainerStatus) bool {
	kind := podstate.TroubleKind(pod, status)
	if kind == "" {
		return false
	}
	other := CompletedRecord(pod).Others[status.Name]
	trouble, isSame := other.Trouble, status.RestartCount <= other.Restarts
	if before, found := beforeUpdate(pod, status.Name); found {
		if kind == podstate.TroubleCrash {
			return int64(status.RestartCount) >= before.explainedRestarts(pod)
		}
		trouble, isSame = before.Trouble, true
	}
	if kind == podstate.TroubleImage && strings.HasPrefix(trouble, podstate.TroubleImage) {
		return false // the status does not name the present image: the trouble may be about the old one
	}
	return kind != trouble || !isSame
}
