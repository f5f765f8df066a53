package inplace

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// CannotBeDrained tells whether the pod has to be changed while it is in service, although a grace period is set: it was
// made before that, and gates cannot be added later.
func CannotBeDrained(manager *v1.PodManager, pod *corev1.Pod) bool {
	return manager.InPlaceGrace() > 0 && !podstate.HasGate(pod)
}

// ByDrained tells the pods that could be drained, or need not be, from those that were changed in service.
func ByDrained(manager *v1.PodManager, pods []*corev1.Pod) (drained, undrained []*corev1.Pod) {
	for _, pod := range pods {
		if CannotBeDrained(manager, pod) {
			undrained = append(undrained, pod)
		} else {
			drained = append(drained, pod)
		}
	}
	return drained, undrained
}

// NextStep is what to do now to change the pod. The duration is how long to wait if that is nothing yet.
func NextStep(manager *v1.PodManager, pod *corev1.Pod, now time.Time) (Step, time.Duration) {
	grace := manager.InPlaceGrace()
	if grace == 0 || CannotBeDrained(manager, pod) {
		return StepUpdate, 0
	}
	since, closed := podstate.GateClosedSince(pod)
	if !closed {
		return StepDrain, 0
	}
	if wait := since.Add(grace).Sub(now); wait > 0 {
		return "", wait
	}
	return StepUpdate, 0
}

// MustOpenFirst tells whether a pod that is to be released is kept out of its Services by our readiness gate: nobody would
// ever open it.
func MustOpenFirst(pod *corev1.Pod) bool {
	gate := podstate.Condition(pod, v1.InPlaceReady)
	return podstate.HasGate(pod) && (gate == nil || gate.Status != corev1.ConditionTrue)
}

// MustOpen tells whether the readiness gate of a pod that is not being changed, has been, or has to wait for that, is to be
// opened: nobody else does.
func MustOpen(pod *corev1.Pod) bool {
	return MustOpenFirst(pod) && (!IsUpdating(pod) || IsHeldUp(pod))
}
