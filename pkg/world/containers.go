package world

import (
	"iter"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// quality tells how the containers of an image behave.
type quality int

const (
	good     quality = iota
	flaky            // the containers become ready and crash
	crashing         // the containers crash at once
	missing          // the image does not exist
)

// quality is the quality of an image now. A broken image was good before.
func (w *World) quality(image string) quality {
	switch {
	case w.brokenImages[image]:
		return crashing
	case image == "flaky":
		return flaky
	case image == "bad":
		return crashing
	case strings.HasPrefix(image, "missing"):
		return missing
	default:
		return good
	}
}

// imageID is the ID of an image. Two names may have the same ID.
func imageID(image string) string {
	if image == "app:5" {
		image = "app:1"
	}
	return "id of " + image
}

// isSidecar tells whether an init container is a sidecar.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// containersOf yields the status and spec of each container, in the order in which the containers start.
func containersOf(p *corev1.Pod) iter.Seq2[*corev1.ContainerStatus, *corev1.Container] {
	return func(yield func(*corev1.ContainerStatus, *corev1.Container) bool) {
		for i := range p.Status.InitContainerStatuses {
			if !yield(&p.Status.InitContainerStatuses[i], &p.Spec.InitContainers[i]) {
				return
			}
		}
		for i := range p.Status.ContainerStatuses {
			if !yield(&p.Status.ContainerStatuses[i], &p.Spec.Containers[i]) {
				return
			}
		}
	}
}

// longRunningOf yields the status and spec of each container that runs as long as the pod: sidecars and app containers.
func longRunningOf(p *corev1.Pod) iter.Seq2[*corev1.ContainerStatus, *corev1.Container] {
	return func(yield func(*corev1.ContainerStatus, *corev1.Container) bool) {
		for status, c := range containersOf(p) {
			if !isInitContainer(p, c) && !yield(status, c) {
				return
			}
		}
	}
}

// isInitContainer tells whether a container has to complete before others start.
func isInitContainer(p *corev1.Pod, c *corev1.Container) bool {
	for i := range p.Spec.InitContainers {
		if c == &p.Spec.InitContainers[i] {
			return !isSidecar(c)
		}
	}
	return false
}

// waitingStatuses are the statuses of containers that have not started yet.
func waitingStatuses(containers []corev1.Container, p *corev1.Pod) []corev1.ContainerStatus {
	var list []corev1.ContainerStatus
	for i := range containers {
		reason := "ContainerCreating"
		if len(p.Spec.InitContainers) > 0 {
			reason = "PodInitializing"
		}
		list = append(list, corev1.ContainerStatus{Name: containers[i].Name, State: waitingFor(reason)})
	}
	return list
}

func waitingFor(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

// isInBackOff tells whether the status of a container says what keeps it from running.
func isInBackOff(status *corev1.ContainerStatus) bool {
	waiting := status.State.Waiting
	return waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing"
}

// nextContainerStep is the next step of the kubelet for the pod's containers; nil if there is none.
func (w *World) nextContainerStep(p *corev1.Pod) func() {
	if p.Status.Phase == corev1.PodPending {
		for status, c := range containersOf(p) {
			if w.Calm && isInBackOff(status) && w.quality(c.Image) != good {
				return nil // in calm, containers in back-off stay there: the back-off would never end
			}
		}
		return func() { w.startContainers(p) }
	}
	for status := range longRunningOf(p) {
		image := w.hidden[p.UID].starts[status.Name].image
		switch {
		case status.State.Running != nil && w.quality(image) == flaky && !isReady(p) && !w.Calm && w.chance(0.7):
			// A flaky container becomes ready before it crashes.
		case status.State.Running != nil && (w.quality(image) == flaky || w.quality(image) == crashing):
			return func() { w.crashContainer(p, status) }
		case status.State.Running == nil && !(w.Calm && isInBackOff(status) && w.quality(w.nextImageOf(p, status.Name)) != good):
			return func() { w.startContainer(p, status) }
		}
	}
	return nil
}

// nextImageOf is the image that the kubelet starts a container with next: the last one if it has not applied the spec yet.
func (w *World) nextImageOf(p *corev1.Pod, name string) string {
	hidden := w.hidden[p.UID]
	if last, found := hidden.starts[name]; found && hidden.applied < p.Generation {
		return last.image
	}
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return list[i].Image
			}
		}
	}
	return ""
}

// startContainers starts the pod's containers one after the other, up to the first that does not start.
func (w *World) startContainers(p *corev1.Pod) {
	for status, c := range containersOf(p) {
		if status.State.Running != nil || status.State.Terminated != nil {
			continue
		}
		if isInitContainer(p, c) && w.fails(0.1) { // a later try may succeed
			w.logf("  %s: container %s fails", p.Name, c.Name)
			w.terminateInBackOff(p, status)
			status.RestartCount++
			w.blamePod(p)
			return
		}
		if w.startContainer(p, status); status.State.Running == nil {
			return
		}
		if isInitContainer(p, c) {
			status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: w.kubeletTime(p)}}
		}
	}
	p.Status.Phase = corev1.PodRunning
}

// startContainer starts a container, if its image exists.
func (w *World) startContainer(p *corev1.Pod, status *corev1.ContainerStatus) {
	hidden, image := w.hidden[p.UID], w.nextImageOf(p, status.Name)
	if w.quality(image) == missing {
		status.State = waitingFor(pick(w, "ErrImagePull", "ImagePullBackOff"))
		status.State.Waiting.Message = "Back-off pulling image \"" + image + "\"" // the planner finds the image by this message
		w.blamePod(p)
		return
	}
	before, isAgain := hidden.starts[status.Name]
	if isAgain {
		status.RestartCount++
	} else {
		for _, c := range containersOf(p) {
			if c.Name == status.Name {
				before.resources = c.Resources
			}
		}
	}
	before.image = image
	hidden.starts[status.Name] = before
	status.Image, status.ImageID = "docker.io/library/"+image, imageID(image) // container runtimes normalise image names
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: w.kubeletTime(p)}}
}

// terminateInBackOff sets the status of a container that has ended by itself.
func (w *World) terminateInBackOff(p *corev1.Pod, status *corev1.ContainerStatus) {
	status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1, FinishedAt: w.kubeletTime(p)}
	status.State = waitingFor("CrashLoopBackOff")
}

// crashContainer ends a container, which the kubelet will restart. If the kubelet has seen an update of the pod, it applies the update
// first.
func (w *World) crashContainer(p *corev1.Pod, status *corev1.ContainerStatus) {
	hidden := w.hidden[p.UID]
	if w.oldKubelets && hidden.observed < p.Generation {
		w.observeGeneration(p)
	}
	if hidden.observed == p.Generation && w.kubeletIsBehind(p) {
		w.applySpec(p)
	}
	if status.State.Running == nil {
		return
	}
	w.terminateInBackOff(p, status)
	w.setReady(p, false)
	w.blamePod(p)
}
