package nodes

import (
	"iter"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/world/dice"
)

// Quality is how containers behave.
type Quality int

// The qualities. In a random world they belong to images, in a Course to pods.
const (
	Good       Quality = iota
	Flaky              // the containers become ready, then crash
	Crashing           // the containers crash at once
	Missing            // the image does not exist
	NeverReady         // the containers run, but do not become ready
)

// qualityOf returns the quality of an image in a pod.
func (n *Nodes) qualityOf(p *corev1.Pod, image string) Quality {
	if n.course != nil {
		return n.course.Quality(p)
	}
	return n.quality(image)
}

// quality returns the present quality of an image. A broken image was good before.
func (n *Nodes) quality(image string) Quality {
	switch {
	case n.brokenImages[image]:
		return Crashing
	case image == "flaky":
		return Flaky
	case image == "bad":
		return Crashing
	case strings.HasPrefix(image, "missing"):
		return Missing
	default:
		return Good
	}
}

// IsGood reports whether containers of an image run and become ready.
func (n *Nodes) IsGood(image string) bool { return n.quality(image) == Good }

// imageID returns the ID of an image. Two names may have the same ID.
func imageID(image string) string {
	if image == "app:5" {
		image = "app:1"
	}
	return "id of " + image
}

// isSidecar reports whether an init container is a sidecar.
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

// isInitContainer reports whether a container has to complete before others start.
func isInitContainer(p *corev1.Pod, c *corev1.Container) bool {
	for i := range p.Spec.InitContainers {
		if c == &p.Spec.InitContainers[i] {
			return !isSidecar(c)
		}
	}
	return false
}

// waitingStatuses returns the statuses of containers that have not started yet.
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

// isInBackOff reports whether the status of a container shows what keeps it from running.
func isInBackOff(status *corev1.ContainerStatus) bool {
	waiting := status.State.Waiting
	return waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing"
}

// nextContainerStep returns the kubelet's next step for the pod's containers, or nil if there is none.
func (n *Nodes) nextContainerStep(p *corev1.Pod) func() {
	if p.Status.Phase == corev1.PodPending {
		for status, c := range containersOf(p) {
			if n.staysInBackOff(p, status, c.Image) {
				return nil
			}
		}
		return func() { n.startContainers(p) }
	}
	for status := range longRunningOf(p) {
		switch {
		case status.State.Running == nil && !n.staysInBackOff(p, status, n.nextImageOf(p, status.Name)):
			return func() { n.startContainer(p, status) }
		case status.State.Running != nil && n.crashesNow(p, status):
			return func() { n.crashContainer(p, status) }
		case status.State.Running != nil && n.states[p.UID].probed[status.Name]:
			return func() { n.states[p.UID].probed[status.Name] = false }
		}
	}
	return nil
}

// staysInBackOff reports whether a container stays in back-off. In calm, a container with a broken image does: otherwise it would be restarted
// without end.
func (n *Nodes) staysInBackOff(p *corev1.Pod, status *corev1.ContainerStatus, image string) bool {
	return n.Calm && isInBackOff(status) && n.qualityOf(p, image) != Good
}

// crashesNow reports whether a running container crashes because of its image. A flaky container usually becomes ready first.
func (n *Nodes) crashesNow(p *corev1.Pod, status *corev1.ContainerStatus) bool {
	quality := n.qualityOf(p, n.states[p.UID].starts[status.Name].image)
	if quality == Flaky && !IsReady(p) && !n.Calm && n.dice.Chance(0.7) {
		return false
	}
	return quality == Flaky || quality == Crashing
}

// nextImageOf returns the image with which the kubelet starts a container next. If the kubelet has not applied the spec yet, it is the last image.
func (n *Nodes) nextImageOf(p *corev1.Pod, name string) string {
	state := n.states[p.UID]
	if last, found := state.starts[name]; found && state.Applied < p.Generation {
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

// startContainers starts the pod's containers one after the other, until one does not start.
func (n *Nodes) startContainers(p *corev1.Pod) {
	for status, c := range containersOf(p) {
		if status.State.Running != nil || status.State.Terminated != nil {
			continue
		}
		if isInitContainer(p, c) && n.fails(0.1) { // a later attempt may succeed
			n.logf("  %s: container %s fails", p.Name, c.Name)
			n.terminateInBackOff(p, status)
			status.RestartCount++
			n.Failed(p)
			return
		}
		if n.startContainer(p, status); status.State.Running == nil {
			return
		}
		if isInitContainer(p, c) {
			status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: n.kubeletTime(p)}}
		}
	}
	p.Status.Phase = corev1.PodRunning
}

// startContainer starts a container, if its image exists.
func (n *Nodes) startContainer(p *corev1.Pod, status *corev1.ContainerStatus) {
	state, image := n.states[p.UID], n.nextImageOf(p, status.Name)
	if n.qualityOf(p, image) == Missing {
		status.State = waitingFor(dice.Pick(n.dice, "ErrImagePull", "ImagePullBackOff"))
		status.State.Waiting.Message = "Back-off pulling image \"" + image + "\"" // the planner recognizes the image in this message
		n.Failed(p)
		return
	}
	before, isAgain := state.starts[status.Name]
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
	state.starts[status.Name], state.startedAt = before, n.Now
	n.beginStartup(p, status.Name, isAgain && p.Generation > 1)
	n.writeResources(status, before.resources)
	status.Image, status.ImageID = "docker.io/library/"+image, imageID(image) // container runtimes normalize image names
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: n.kubeletTime(p)}}
}

// writeResources writes the CPU and memory of a container to its status, unless the kubelets are old.
func (n *Nodes) writeResources(status *corev1.ContainerStatus, resources corev1.ResourceRequirements) {
	if !n.OldKubelets {
		status.Resources = &resources
	}
}

// terminateInBackOff sets the status of a container that has terminated on its own.
func (n *Nodes) terminateInBackOff(p *corev1.Pod, status *corev1.ContainerStatus) {
	delete(n.states[p.UID].unknownUntil, status.Name) // the kubelet reports that the container is not started any more
	status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1, FinishedAt: n.kubeletTime(p)}
	status.State = waitingFor("CrashLoopBackOff")
}

// crashContainer terminates a container, which the kubelet will restart. If the kubelet has seen an update of the pod, it applies the update first.
func (n *Nodes) crashContainer(p *corev1.Pod, status *corev1.ContainerStatus) {
	state := n.states[p.UID]
	if n.OldKubelets && state.Observed < p.Generation {
		n.observeGeneration(p)
	}
	if state.Observed == p.Generation && n.IsBehind(p) {
		n.applySpec(p)
	}
	if status.State.Running == nil {
		return
	}
	n.terminateInBackOff(p, status)
	n.SetReady(p, false)
	n.Failed(p)
}
