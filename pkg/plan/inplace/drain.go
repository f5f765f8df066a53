package inplace

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/compare"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// Means are what the controller may do to a pod besides patching it.
type Means struct {
	// PatchesOnly tells that the controller may patch neither pods/resize nor pods/status: it can neither resize nor drain a pod.
	PatchesOnly bool
}

// WhyPatchesOnly is why a controller with PatchesOnly does not resize or drain a pod.
const WhyPatchesOnly = "the controller runs with -resize-and-drain=false"

// WhyNot is why the pod cannot be updated in place although only CPU, memory or images differ; empty if it can. Without a resize, an update
// that has begun with one can be neither completed nor reverted. Nobody would open a gate that is closed.
func (m Means) WhyNot(pod *corev1.Pod, diff compare.Diff) string {
	if m.PatchesOnly && (len(diff.Resources) > 0 || IsInterrupted(pod) || MustOpenFirst(pod)) {
		return WhyPatchesOnly
	}
	return ""
}

// WhyNotDrained tells why the pod has to be updated while it is in service, although a grace period is set: it was created without our
// readiness gate, and readiness gates cannot be added later; or the controller cannot close the gate. It is empty if the pod can be drained,
// or need not be.
func (m Means) WhyNotDrained(manager *v1.PodManager, pod *corev1.Pod) string {
	switch {
	case manager.InPlaceGrace() == 0:
		return ""
	case m.PatchesOnly:
		return WhyPatchesOnly
	case !podstate.HasGate(pod):
		return "made before inPlaceGracePeriodSeconds was set"
	default:
		return ""
	}
}

// ByDrained sorts updated pods by why they were updated while in service; by "" those that were drained or needed no draining.
func (m Means) ByDrained(manager *v1.PodManager, pods []*corev1.Pod) map[string][]*corev1.Pod {
	sorted := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		why := m.WhyNotDrained(manager, pod)
		sorted[why] = append(sorted[why], pod)
	}
	return sorted
}

const (
	// maxReadinessLag bounds how long after the gate was closed the kubelet's answer to it, Ready=False, is waited for and believed: the
	// node may have no kubelet that heeds gates, and the API server's clock may not be ours. A busy kubelet may take many seconds, and if it
	// is gone, the node controller answers in its place after less than a minute.
	maxReadinessLag = time.Minute
	// unknownReadinessLag is how late the answer is taken to have come if nobody has noted when it came.
	unknownReadinessLag = 10 * time.Second
)

// drainStep is the first step to update the pod in place, if that is to drain it, or empty. The duration is how long the pod still has to
// drain before the next step.
func (m Means) drainStep(manager *v1.PodManager, pod *corev1.Pod, now time.Time) (Step, time.Duration) {
	grace := manager.InPlaceGrace()
	if grace == 0 || m.WhyNotDrained(manager, pod) != "" {
		return "", 0
	}
	since, closed := outOfServiceSince(pod)
	if !closed {
		return StepDrain, 0
	}
	return "", max(0, since.Add(grace).Sub(now))
}

// outOfServiceSince is when the closed gate took the pod out of its Services; false if the gate is open. The gate alone does not: the
// endpoint leaves when the API server gets to know that the kubelet has set Ready to False, seconds later if the kubelet is busy, and
// whatever its clock says. A pod that was not ready before is out of service since the gate was closed, or longer.
func outOfServiceSince(pod *corev1.Pod) (time.Time, bool) {
	gate, closed := podstate.GateClosedSince(pod)
	if !closed {
		return time.Time{}, false
	}
	ready, latest := podstate.Condition(pod, corev1.PodReady), gate.Add(maxReadinessLag)
	written, isKnown := podstate.ReadyWritten(pod)
	// The time was rounded down to whole seconds.
	written = written.Add(time.Second)
	switch {
	case ready == nil:
		return gate, true
	case ready.Status == corev1.ConditionTrue || isKnown && written.After(latest):
		return latest, true
	case !isKnown:
		return gate.Add(unknownReadinessLag), true
	case written.Before(gate):
		return gate, true
	default:
		return written, true
	}
}

// MustOpenFirst tells whether our readiness gate keeps the pod out of its Services. The controller opens the gate before it releases
// such a pod, because nobody would ever open it afterwards.
func MustOpenFirst(pod *corev1.Pod) bool {
	gate := podstate.Condition(pod, v1.InPlaceReady)
	return podstate.HasGate(pod) && (gate == nil || gate.Status != corev1.ConditionTrue)
}

// MustOpen tells whether the controller has to open the pod's readiness gate: the gate is not open, and either no update in place is
// going on, or its resize is held up.
func MustOpen(pod *corev1.Pod, now time.Time) bool {
	return MustOpenFirst(pod) && (!IsUpdating(pod) || IsResizeHeldUp(pod)) && UntilBelieved(pod, now) == 0
}
