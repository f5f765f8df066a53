package inplace

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/compare"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// Capabilities are what the controller may do to a pod besides patching it.
type Capabilities struct {
	// CanResizeAndDrain is set if the controller may patch pods/resize and pods/status. Without it, it can neither resize nor drain a pod.
	CanResizeAndDrain bool
}

// WhyNoResize is why a controller without CanResizeAndDrain does not resize or drain a pod.
const WhyNoResize = "the controller runs with -resize-and-drain=false"

// WhyNot returns why the pod cannot be updated in place although only CPU, memory or images differ, or empty if it can. A controller that cannot
// resize can neither complete nor revert an update that began with a resize, and it cannot open a closed gate.
func (c Capabilities) WhyNot(pod *corev1.Pod, diff compare.Diff) string {
	if !c.CanResizeAndDrain && (len(diff.Resources) > 0 || IsInterrupted(pod) || GateBlocksTraffic(pod)) {
		return WhyNoResize
	}
	return ""
}

// WhyNotDrained returns why the pod has to be updated while it is in service although a grace period is set. Either the pod was created without our
// readiness gate, which cannot be added later, or the controller cannot close the gate. The result is empty if the pod can be drained or need not
// be.
func (c Capabilities) WhyNotDrained(manager *v1.PodManager, pod *corev1.Pod) string {
	switch {
	case manager.InPlaceGrace() == 0:
		return ""
	case !c.CanResizeAndDrain:
		return WhyNoResize
	case !podstate.HasGate(pod):
		return "created before inPlaceGracePeriodSeconds was set"
	default:
		return ""
	}
}

// WhyWasNotDrained returns why the pod was in service during its last update. The result is empty if the pod was drained, or the kubelet had nothing to
// do for the update.
func (c Capabilities) WhyWasNotDrained(manager *v1.PodManager, pod *corev1.Pod) string {
	if !CompletedRecord(pod).needsKubelet() {
		return ""
	}
	return c.WhyNotDrained(manager, pod)
}

// GroupByDrainReason groups updated pods by WhyWasNotDrained.
func (c Capabilities) GroupByDrainReason(manager *v1.PodManager, pods []*corev1.Pod) map[string][]*corev1.Pod {
	sorted := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		why := c.WhyWasNotDrained(manager, pod)
		sorted[why] = append(sorted[why], pod)
	}
	return sorted
}

const (
	// maxReadinessLag is the longest time after the gate was closed that the controller waits for the kubelet to respond with Ready=False. After
	// that, the pod counts as out of service. The node may have no kubelet that respects gates, and the API server's clock may differ from ours. A
	// busy kubelet may take many seconds. If the kubelet is gone, the node controller responds in its place after less than a minute.
	maxReadinessLag = time.Minute
	// unknownReadinessLag is how long the response is assumed to take if the time when the API server received it is not known.
	unknownReadinessLag = 10 * time.Second
)

// drainStep returns StepDrain if the pod has to be drained first, or empty. The duration is how long the pod still has to drain before the next
// step.
func (c Capabilities) drainStep(manager *v1.PodManager, pod *corev1.Pod, now time.Time) (Step, time.Duration) {
	grace := manager.InPlaceGrace()
	if grace == 0 || c.WhyNotDrained(manager, pod) != "" {
		return "", 0
	}
	since, closed := outOfServiceSince(pod)
	if !closed {
		return StepDrain, 0
	}
	return "", max(0, since.Add(grace).Sub(now))
}

// outOfServiceSince returns when the closed gate took the pod out of its Services, or false if the gate is open. Closing the gate is not enough: the
// endpoint is removed when the API server learns that the kubelet has set Ready to False. That may be seconds later if the kubelet is busy. The
// kubelet's clock does not matter. A pod that was not ready before has been out of service since the gate was closed, unless it was ready in between:
// its kubelet may not have seen the gate. The time of the kubelet's last write does not help there, because a crashing pod's status keeps changing.
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
	case ready == nil, podstate.WasUnready(pod):
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

// GateBlocksTraffic reports whether our readiness gate keeps the pod out of its Services. The controller opens the gate before it releases such a pod,
// because no other client would ever open it.
func GateBlocksTraffic(pod *corev1.Pod) bool {
	gate := podstate.Condition(pod, v1.InPlaceReady)
	return podstate.HasGate(pod) && (gate == nil || gate.Status != corev1.ConditionTrue)
}

// MustOpen reports whether the controller has to open the pod's readiness gate: the gate is not open, and either no update in place is in progress,
// or its resize is stuck.
func MustOpen(pod *corev1.Pod, now time.Time) bool {
	return GateBlocksTraffic(pod) && (!IsUpdating(pod) || IsResizeStuck(pod)) && StatusTrustDelay(pod, now) == 0
}
