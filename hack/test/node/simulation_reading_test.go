//go:build e2e

package node

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// presentImage stands for the image name in the pod's spec, which may differ between kinds of nodes.
const presentImage = "IMAGE"

// reading is what the controller reads of a pod with one container, in a form that is comparable between pods: without times, and with numbers
// instead of IDs. It omits what the controller does not read, such as the order of conditions, other conditions, the resources in the status and
// exit codes. Of a terminating pod it omits everything, because packages plan and rollout only count those.
type reading struct {
	// phase includes the reason, if there is one. taken is true if the kubelet has accepted the pod.
	phase string
	taken bool
	// observed is podstate.HasObserved, ready is the Ready condition with reason and message, resize has the resize conditions with their reasons.
	observed      bool
	ready, resize string
	container     containerReading
	terminating   bool
	gone          bool
}

type containerReading struct {
	// state is waiting, running or terminated, with the reason. last is the previous state.
	state, last string
	// trouble is podstate.TroubleKind, which finds the name of the image in a message.
	trouble string
	ready   bool
	// restarts is the restart count, and image is the name in the status. imageID is a number instead of the ID: the first ID that was seen is 1, and
	// so on. containerID has the restart count with which the container was first seen, and how many other containers were seen with that count before.
	restarts    int32
	image       string
	imageID     int
	containerID string
}

// fields returns the parts of a reading as text.
func (r reading) fields() []string {
	switch {
	case r.gone:
		return []string{"gone"}
	case r.terminating:
		return []string{"terminating"}
	}
	c := r.container
	return []string{
		r.phase, fmt.Sprintf("taken up %t", r.taken), fmt.Sprintf("observed %t", r.observed), fmt.Sprintf("ready %q", r.ready),
		fmt.Sprintf("resize %q", r.resize), c.state, fmt.Sprintf("before %q", c.last), fmt.Sprintf("trouble %q", c.trouble),
		fmt.Sprintf("container ready %t", c.ready), fmt.Sprintf("restarts %d", c.restarts), c.image,
		fmt.Sprintf("image %d", c.imageID), "container " + c.containerID,
	}
}

// isServing reports whether the kubelet has nothing left to do, and the pod is ready.
func (r reading) isServing() bool {
	return r.observed && r.ready == "True" && r.resize == "" && r.container.ready
}

// recording is the sequence of readings of one pod. Equal neighbors are merged.
type recording struct {
	readings []reading
	// ends are the indices of the readings at which the pod had started, and at which each step was complete.
	ends []int
	// images are the image IDs. containers are the container IDs, by the restart count with which each was first seen.
	images     []string
	containers map[int32][]string
}

func (r *recording) last() reading { return r.readings[len(r.readings)-1] }

func (r *recording) add(next reading) {
	if len(r.readings) == 0 || r.last() != next {
		r.readings = append(r.readings, next)
	}
}

// read adds what the controller reads of a pod. It ignores a pod without a node: only the scheduler acts on it, in the same way for all nodes.
func (r *recording) read(pod *corev1.Pod) {
	switch {
	case pod.Spec.NodeName == "":
		return
	case pod.DeletionTimestamp != nil:
		r.add(reading{terminating: true})
		return
	}
	next := reading{
		phase: podstate.OneLine(string(pod.Status.Phase), pod.Status.Reason), taken: pod.Status.StartTime != nil,
		observed: podstate.HasObserved(pod), ready: describeCondition(pod, corev1.PodReady),
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodResizePending, corev1.PodResizeInProgress} {
		if found := podstate.Condition(pod, kind); found != nil {
			next.resize += strings.TrimSpace(fmt.Sprintf("%s %s %s", kind, found.Status, found.Reason))
		}
	}
	for status := range podstate.ContainerStatuses(pod) {
		next.container = containerReading{
			state: describeState(&status.State), last: describeState(&status.LastTerminationState),
			trouble: podstate.TroubleKind(pod, status), ready: status.Ready, restarts: status.RestartCount,
			image: status.Image, imageID: r.numberOfImage(status.ImageID), containerID: r.numberOfContainer(status),
		}
	}
	present := pod.Spec.Containers[0].Image
	next.container.trouble = strings.ReplaceAll(next.container.trouble, present, presentImage)
	if next.container.trouble == podstate.TroubleImage {
		// The trouble was with a previous image, which is no longer tried. Which state the last attempt left depends on timing.
		next.container.state = "waiting for an image of before"
	}
	next.container.image = strings.ReplaceAll(next.container.image, present, presentImage)
	r.add(next)
}

// numberOfImage returns the number of an image ID, counted in the order in which the IDs were first seen; 0 for none.
func (r *recording) numberOfImage(id string) int {
	if id == "" {
		return 0
	}
	if !slices.Contains(r.images, id) {
		r.images = append(r.images, id)
	}
	return slices.Index(r.images, id) + 1
}

// numberOfContainer returns an identifier that does not depend on whether earlier containers were seen.
func (r *recording) numberOfContainer(status *corev1.ContainerStatus) string {
	if status.ContainerID == "" {
		return ""
	}
	for restarts, known := range r.containers {
		if at := slices.Index(known, status.ContainerID); at >= 0 {
			return fmt.Sprintf("%d.%d", restarts, at)
		}
	}
	if r.containers == nil {
		r.containers = map[int32][]string{}
	}
	r.containers[status.RestartCount] = append(r.containers[status.RestartCount], status.ContainerID)
	return fmt.Sprintf("%d.%d", status.RestartCount, len(r.containers[status.RestartCount])-1)
}

func describeCondition(pod *corev1.Pod, kind corev1.PodConditionType) string {
	found := podstate.Condition(pod, kind)
	if found == nil {
		return ""
	}
	return strings.TrimSpace(string(found.Status) + " " + podstate.OneLine(found.Reason, found.Message))
}

// describeState returns the kind of a state and its reason. The exit code is up to the program, so only success or failure is included.
func describeState(state *corev1.ContainerState) string {
	switch {
	case state.Waiting != nil:
		return "waiting " + state.Waiting.Reason
	case state.Running != nil:
		return "running"
	case state.Terminated != nil:
		return fmt.Sprintf("terminated %s, failed %t", state.Terminated.Reason, state.Terminated.ExitCode != 0)
	default:
		return ""
	}
}

// tracks returns the two ways to read a recording, see testSimulation: one without the observed generation, one without resizes.
func (r *recording) tracks() [2]*recording {
	var tracks [2]*recording
	for i := range tracks {
		tracks[i] = &recording{}
	}
	for _, next := range r.readings {
		unobserved, unresized := next, next
		unobserved.observed, unresized.resize = false, ""
		tracks[0].add(unobserved)
		tracks[1].add(unresized)
	}
	return tracks
}

// isAmong reports whether the start and each step are within those of others. Sometimes a kubelet has removed a dead container before it reads the
// state of the pod. In that case it shows no previous state.
func (r *recording) isAmong(others []*recording) bool {
	for i, phase := range r.phases() {
		isWithin := func(other *recording) bool {
			same := other.phases()[i]
			return phase.isWithin(same) || phase.isWithin(same.withoutLast())
		}
		if !slices.ContainsFunc(others, isWithin) {
			return false
		}
	}
	return true
}

// withoutLast returns the recording without the previous states.
func (r *recording) withoutLast() *recording {
	forgetful := &recording{}
	for _, next := range r.readings {
		next.container.last = ""
		forgetful.add(next)
	}
	return forgetful
}

// phases returns the start and each step. A step begins with the reading at which the previous one was complete.
func (r *recording) phases() []*recording {
	var phases []*recording
	begin := 0
	for _, end := range r.ends {
		phases = append(phases, &recording{readings: r.readings[begin : end+1]})
		begin = end
	}
	return phases
}

// isWithin reports whether on both tracks all readings are among those of another recording, in the same order, and the last one is the same.
func (r *recording) isWithin(other *recording) bool {
	tracks, others := r.tracks(), other.tracks()
	for i, track := range tracks {
		if track.last() != others[i].last() {
			return false
		}
		rest := others[i].readings
		for _, next := range track.readings[:len(track.readings)-1] {
			at := slices.Index(rest, next)
			if at < 0 {
				return false
			}
			rest = rest[at+1:]
		}
	}
	return true
}

// without returns the readings of a track that another one lacks.
func (r *recording) without(other *recording) *recording {
	rest := func(next reading) bool { return slices.Contains(other.readings, next) }
	return &recording{readings: slices.DeleteFunc(slices.Clone(r.readings), rest)}
}

// String returns a line for every reading, with the fields that differ from the previous reading.
func (r *recording) String() string {
	var lines strings.Builder
	var before []string
	for _, next := range r.readings {
		lines.WriteString("\n  -")
		fields := next.fields()
		for i, field := range fields {
			if len(fields) != len(before) || field != before[i] {
				lines.WriteString(" " + field + ";")
			}
		}
		before = fields
	}
	return lines.String()
}
