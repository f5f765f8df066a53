//go:build e2e

package node

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// presentImage stands for the name of the image in the pod's spec, which may be another one on nodes of another kind.
const presentImage = "IMAGE"

// reading is what the controller reads of a pod with one container, in words that are the same for all pods: no times, and numbers instead
// of IDs. Left out is what it does not read, such as the order of conditions, other conditions, the resources in the status and the
// codes of exits; and of a terminating pod everything, since packages plan and rollout only count those.
type reading struct {
	// phase has the reason, if there is one; taken tells that the kubelet has taken the pod up.
	phase string
	taken bool
	// observed is podstate.HasObserved, ready the Ready condition with reason and message, resize the conditions of resizes with reasons.
	observed      bool
	ready, resize string
	container     containerReading
	terminating   bool
	gone          bool
}

type containerReading struct {
	// state is waiting, running or terminated, with the reason; last is the state before.
	state, last string
	// trouble is podstate.TroubleKind, which finds the name of the image in a message.
	trouble string
	ready   bool
	// restarts is the restart count, image the name in the status. imageID is how many different ones there were so far, containerID the
	// restart count with which the container was seen first, and how many others were seen with that before.
	restarts    int32
	image       string
	imageID     int
	containerID string
}

// fields are the parts of a reading, for a person.
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

// isServing tells whether the kubelet has nothing left to do, and the pod is ready.
func (r reading) isServing() bool {
	return r.observed && r.ready == "True" && r.resize == "" && r.container.ready
}

// recording is what was read of one pod, in order; equal neighbours are one.
type recording struct {
	readings []reading
	// ends are the indices of the readings with which the pod had started, and with which each step was done.
	ends []int
	// images are the IDs of images, containers those of containers by the restart count with which each was seen first.
	images     []string
	containers map[int32][]string
}

func (r *recording) last() reading { return r.readings[len(r.readings)-1] }

func (r *recording) add(next reading) {
	if len(r.readings) == 0 || r.last() != next {
		r.readings = append(r.readings, next)
	}
}

// read adds what the controller reads of a pod. A pod without a node is the scheduler's, which is the same for all nodes.
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
		// That was of another image, which is not tried any more. Whether the last try was just then is a matter of the clock.
		next.container.state = "waiting for an image of before"
	}
	next.container.image = strings.ReplaceAll(next.container.image, present, presentImage)
	r.add(next)
}

// numberOfImage tells how many different IDs there were up to this one; 0 for none.
func (r *recording) numberOfImage(id string) int {
	if id == "" {
		return 0
	}
	if !slices.Contains(r.images, id) {
		r.images = append(r.images, id)
	}
	return slices.Index(r.images, id) + 1
}

// numberOfContainer does not depend on whether containers before this one were seen.
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

// describeState is the kind of a state and its reason. What a container ends with is up to its program: it is told only whether that is a failure.
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

// tracks are the two ways to read a recording, see testSimulation: one without the observed generation, one without resizes.
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

// isAmong tells whether the start and each step are within those of others. A kubelet that has removed a dead container before it reads the
// state of its pod shows no state before, now and then.
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

// withoutLast is the recording without the states before.
func (r *recording) withoutLast() *recording {
	forgetful := &recording{}
	for _, next := range r.readings {
		next.container.last = ""
		forgetful.add(next)
	}
	return forgetful
}

// phases are the start and each step. A step begins with the reading with which the one before was done.
func (r *recording) phases() []*recording {
	var phases []*recording
	begin := 0
	for _, end := range r.ends {
		phases = append(phases, &recording{readings: r.readings[begin : end+1]})
		begin = end
	}
	return phases
}

// isWithin tells whether on both tracks all readings are among those of another recording, in the same order, and the last one is the same.
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

// without is what is on a track, and not on another.
func (r *recording) without(other *recording) *recording {
	rest := func(next reading) bool { return slices.Contains(other.readings, next) }
	return &recording{readings: slices.DeleteFunc(slices.Clone(r.readings), rest)}
}

// String has a line for every reading, with what is not as it was in the one before.
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
