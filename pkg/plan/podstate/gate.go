package podstate

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// ReadyWritten is when the API server last took a change of the pod's status from whoever sets the condition Ready, by its own clock, in whole
// seconds, rounded down; false if that is not known. The condition's own time says less: it is that of the kubelet's clock, and from before
// the kubelet told anybody.
func ReadyWritten(pod *corev1.Pod) (time.Time, bool) {
	var latest time.Time
	for _, entry := range pod.ManagedFields {
		if setsReady(entry) && entry.Time != nil && entry.Time.After(latest) {
			latest = entry.Time.Time
		}
	}
	return latest, !latest.IsZero()
}

// setsReady tells whether an entry of a pod's managed fields is that of a writer of the condition Ready: the kubelet, or the node controller if
// the kubelet is gone.
func setsReady(entry metav1.ManagedFieldsEntry) bool {
	return entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `k:{\"type\":\"Ready\"}`)
}
