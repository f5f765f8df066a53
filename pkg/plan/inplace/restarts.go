package inplace

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// beforeUpdate is how a container was before the update in place that may restart it; false if none does.
func beforeUpdate(pod *corev1.Pod, container string) (ContainerBefore, bool) {
	if last := lastRecord(pod); last.Begun {
		if before, changing := last.Containers[container]; changing {
			return before, true
		}
	}
	before, changed := CompletedRecord(pod).Containers[container]
	return before, changed
}

// Crashes is how often a container was restarted, but for what an update in place takes and what was before it.
func Crashes(pod *corev1.Pod, status *corev1.ContainerStatus) int32 {
	other := CompletedRecord(pod).Others[status.Name]
	known := other.Restarts
	if other.Trouble == podstate.TroubleCrash {
		known++ // it was yet to be started again
	}
	if before, changed := beforeUpdate(pod, status.Name); changed {
		known = before.mostRestarts(pod)
	}
	return max(0, status.RestartCount-known)
}

// mostRestarts is how often a container that updates in place restart may have been restarted without a crash of its own. One that
// crashed again and again may have done so once more before its node saw the first change.
func (b ContainerBefore) mostRestarts(pod *corev1.Pod) int32 {
	most := max(b.Restarts, b.Seen) + max(1, int32(pod.Generation-b.Generation))
	if b.Trouble == podstate.TroubleCrash {
		most++
	}
	return most
}

// AllCrashes is the same for all containers.
func AllCrashes(pod *corev1.Pod) (count int32) {
	for status := range podstate.ContainerStatuses(pod) {
		count += Crashes(pod, status)
	}
	return count
}

// HasOwnTrouble tells whether a container is in trouble, and not as it was before the pod was updated in place, nor because it is
// being started anew for that.
func HasOwnTrouble(pod *corev1.Pod, status *corev1.ContainerStatus) bool {
	kind := podstate.TroubleKind(pod, status)
	if kind == "" {
		return false
	}
	other := CompletedRecord(pod).Others[status.Name]
	trouble, isSame := other.Trouble, status.RestartCount <= other.Restarts
	if before, changed := beforeUpdate(pod, status.Name); changed {
		if kind == podstate.TroubleCrash {
			return status.RestartCount >= before.mostRestarts(pod)
		}
		trouble, isSame = before.Trouble, true
	}
	if kind == podstate.TroubleImage && strings.HasPrefix(trouble, podstate.TroubleImage) {
		return false // it is about another image than the present one, or nobody can tell
	}
	return kind != trouble || !isSame
}
