package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// From Kubernetes 1.35 on, a kubelet that has restarted a container for an update in place goes on to report it as started, and the pod as ready,
// until the startup probe is due for the first time. The pod does not serve meanwhile.

// startupReported is the longest time from when a startup probe is due until the API server knows that the probe has not succeeded.
const startupReported = 10 * time.Second

// startupProbe returns the startup probe of a container, or nil if it has none.
func startupProbe(p *corev1.Pod, name string) *corev1.Probe {
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return list[i].StartupProbe
			}
		}
	}
	return nil
}

// startupKnown is the time from when a startup probe is due until the pod counts as ready again, as the manual says.
const startupKnown = 15 * time.Second

// noteRestart records that the kubelet has restarted a container for an update in place. An old kubelet reports at once that the container has not
// started yet.
func (n *Nodes) noteRestart(p *corev1.Pod, status *corev1.ContainerStatus) {
	probe := startupProbe(p, status.Name)
	if status.State.Running == nil || probe == nil {
		return
	}
	n.states[p.UID].unknownUntil[status.Name] = n.startupKnownAt(probe)
	if n.OldKubelets {
		n.SetReady(p, false)
	}
}

// IsStartupUnknown reports whether a container was restarted for an update in place so recently that the pod does not count as ready yet.
func (n *Nodes) IsStartupUnknown(p *corev1.Pod) bool {
	for _, until := range n.states[p.UID].unknownUntil {
		if n.Now.Before(until) {
			return true
		}
	}
	return false
}

// startupKnownAt returns when a pod whose container is restarted now counts as ready again.
func (n *Nodes) startupKnownAt(probe *corev1.Probe) time.Time {
	return n.serverTime().Add(time.Duration(probe.PeriodSeconds)*time.Second + startupKnown)
}

// beginStartup records that a container starts.
func (n *Nodes) beginStartup(p *corev1.Pod, name string, isDoubtful bool) {
	state, probe := n.states[p.UID], startupProbe(p, name)
	if state.probed[name] = probe != nil; state.probed[name] && isDoubtful {
		state.doubtfulSince, state.doubtfulFor = n.serverTime().Time, n.startupKnownAt(probe).Sub(n.serverTime().Time)
	}
}

// IsStartupDoubtful reports whether the controller may believe that a container of the pod was just restarted for an update in place.
func (n *Nodes) IsStartupDoubtful(p *corev1.Pod) bool {
	state := n.states[p.UID]
	return state.doubtfulFor > 0 && !n.Now.After(n.knownTime(p, state.doubtfulSince).Add(state.doubtfulFor+time.Second))
}

// IsStarting reports whether the startup probe of a running container has not succeeded yet.
func (n *Nodes) IsStarting(p *corev1.Pod) bool {
	for status := range longRunningOf(p) {
		if status.State.Running != nil && n.states[p.UID].probed[status.Name] {
			return true
		}
	}
	return false
}

// ReportStartup makes the kubelets report pods as not ready whose startup probes were due at least startupReported ago and have not succeeded.
func (n *Nodes) ReportStartup(pods []*corev1.Pod) {
	for _, p := range pods {
		if !IsReady(p) || IsFinished(p) || !n.IsStarting(p) {
			continue
		}
		for status := range longRunningOf(p) {
			probe := startupProbe(p, status.Name)
			if probe == nil || !n.states[p.UID].probed[status.Name] {
				continue
			}
			due := n.states[p.UID].startedAt.Add(time.Duration(probe.PeriodSeconds) * time.Second)
			if !n.Now.Before(due.Add(startupReported)) {
				n.SetReady(p, false)
			}
		}
	}
}
