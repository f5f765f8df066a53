package podstate

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// GateClosedSince returns when our readiness gate was closed to keep the pod out of its Services, or false if the gate is not closed.
func GateClosedSince(pod *corev1.Pod) (time.Time, bool) {
	gate := Condition(pod, v1.InPlaceReady)
	if !HasGate(pod) || gate == nil || gate.Status == corev1.ConditionTrue {
		return time.Time{}, false
	}
	return gate.LastTransitionTime.Time, true
}

// IsDrained reports whether our readiness gate is closed.
func IsDrained(pod *corev1.Pod) bool {
	_, closed := GateClosedSince(pod)
	return closed
}

// HasGate reports whether the pod has our readiness gate, which can keep it out of its Services.
func HasGate(pod *corev1.Pod) bool {
	return slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: v1.InPlaceReady})
}

// UnreadySince says since when the pod has not been ready, by the kubelet's clock. It is empty if the pod is ready, or has no Ready condition. The
// text changes whenever the pod has been ready in between, so two equal texts prove that it has not, whatever the kubelet's clock.
func UnreadySince(pod *corev1.Pod) string {
	ready := Condition(pod, corev1.PodReady)
	if ready == nil || ready.Status == corev1.ConditionTrue {
		return ""
	}
	return "the pod has not been ready since " + ready.LastTransitionTime.UTC().Format(time.RFC3339)
}

// WasUnready reports whether the pod was not ready when our readiness gate was closed, and has not been ready since.
func WasUnready(pod *corev1.Pod) bool {
	gate, since := Condition(pod, v1.InPlaceReady), UnreadySince(pod)
	return gate != nil && since != "" && gate.Message == since
}

// ReadyWritten returns when the API server last accepted a status change from a client that sets the Ready condition. The time is by the API
// server's clock, in whole seconds, rounded down. It returns false if the time is unknown. The condition's own timestamp is less useful: it is by
// the kubelet's clock, from before the kubelet sent the status.
func ReadyWritten(pod *corev1.Pod) (time.Time, bool) {
	var latest time.Time
	for _, entry := range pod.ManagedFields {
		if setsReady(entry) && entry.Time != nil && entry.Time.After(latest) {
			latest = entry.Time.Time
		}
	}
	return latest, !latest.IsZero()
}

// setsReady reports whether an entry of a pod's managed fields belongs to a client that sets the Ready condition: the kubelet, or the node
// controller if the kubelet is gone.
func setsReady(entry metav1.ManagedFieldsEntry) bool {
	return entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `k:{\"type\":\"Ready\"}`)
}
