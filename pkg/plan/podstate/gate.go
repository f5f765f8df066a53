package podstate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// GateClosedSince is when our readiness gate was closed to keep the pod out of its Services; false if the gate is not closed.
func GateClosedSince(pod *corev1.Pod) (time.Time, bool) {
	gate := Condition(pod, v1.InPlaceReady)
	if !HasGate(pod) || gate == nil || gate.Status == corev1.ConditionTrue {
		return time.Time{}, false
	}
	return gate.LastTransitionTime.Time, true
}

// IsDrained tells whether our readiness gate is closed.
func IsDrained(pod *corev1.Pod) bool {
	_, closed := GateClosedSince(pod)
	return closed
}

// HasGate tells whether the pod has our readiness gate, which can keep it out of its Services.
func HasGate(pod *corev1.Pod) bool {
	return slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: v1.InPlaceReady})
}
