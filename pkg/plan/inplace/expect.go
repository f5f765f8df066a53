package inplace

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/podmanager/pkg/plan/compare"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// newRecord returns the record of the update: the state of the containers before it.
func (u Update) newRecord(now time.Time) Record {
	diff := u.Diff()
	amounts := u.amounts(diff)
	record := Record{
		Revision: u.To.Hash, At: now.UTC().Truncate(time.Second), Resized: len(amounts) > 0 || mayBeResizing(u.Pod),
		Containers: map[string]ContainerBefore{}, Others: map[string]OtherBefore{},
	}
	for _, container := range u.To.Template().Spec.Containers {
		own := podstate.ContainerNamed(&u.Pod.Spec, container.Name)
		if own == nil {
			continue // the API server will refuse the update
		}
		wanted := corev1.Container{
			Name: own.Name, Image: cmp.Or(diff.Images[own.Name], own.Image), Resources: own.Resources, ResizePolicy: container.ResizePolicy,
		}
		if resources, isResized := amounts[own.Name]; isResized {
			wanted.Resources = resources
		}
		if before, mayRestart := u.containerBefore(own, &wanted); mayRestart {
			record.Containers[own.Name] = before
		}
	}
	for status := range podstate.ContainerStatuses(u.Pod) {
		other := OtherBefore{
			Restarts: status.RestartCount, Trouble: podstate.TroubleKind(u.Pod, status), Starting: untilContainerStarted(u.Pod, status, now) > 0,
		}
		if _, found := record.Containers[status.Name]; !found && other != (OtherBefore{}) {
			record.Others[status.Name] = other
		}
	}
	return record
}

// containerBefore returns the state of a container before the update, and whether the kubelet restarts, or may restart, the container for the update.
// If the kubelet has yet to restart the container for an earlier update, the container is still in the state before that update.
func (u Update) containerBefore(own, wanted *corev1.Container) (before ContainerBefore, mayRestart bool) {
	before = u.snapshot(wanted)
	if begun := begunRecord(u.Pod).Containers[own.Name]; begun.Optional && u.continuesInterrupted() {
		begun.Trouble = before.Trouble
		return begun, true
	}
	before.From, before.Had = own.Image, u.amountsBefore(own, wanted)
	earlier, isOutstanding := outstanding(u.Pod, own.Name)
	if isOutstanding {
		before.ImageID, before.Restarts, before.Generation = earlier.ImageID, earlier.Restarts, earlier.Generation
		before.From, before.Had = cmp.Or(earlier.From, before.From), cmp.Or(earlier.Had, before.Had)
	}
	if before.Optional = !before.needsRestart(wanted); before.Optional {
		before.From = own.Image // if the update reverts the image, the container may already run the image that is reverted
	}
	if before.From == wanted.Image {
		before.From = ""
	}
	return before, !before.Optional || isOutstanding || before.Had != nil
}

// outstanding returns the state of a container before an earlier update for which the kubelet has yet to restart it, or false if there is no such
// update.
func outstanding(pod *corev1.Pod, container string) (ContainerBefore, bool) {
	for _, record := range []Record{begunRecord(pod), CompletedRecord(pod)} {
		if before, found := record.Containers[container]; found && !before.Optional && !IsRestarted(pod, container, before) {
			return before, true
		}
	}
	return ContainerBefore{}, false
}

// amountsBefore returns the value of ContainerBefore.Had.
func (u Update) amountsBefore(own, wanted *corev1.Container) *corev1.ResourceRequirements {
	// If an interrupted update resizes the container, a kubelet that reports no observed generation may or may not have carried that out.
	_, isInterrupted := begunRecord(u.Pod).Containers[own.Name]
	switch had := compare.RestartAmounts(own.Resources, wanted.ResizePolicy); {
	case len(had.Requests)+len(had.Limits) == 0:
		return nil
	case mayBeResizing(u.Pod), isInterrupted && u.Pod.Status.ObservedGeneration == 0:
		return &corev1.ResourceRequirements{}
	case compare.HasOtherAmounts(wanted.Resources, had):
		return &had
	default:
		return nil
	}
}

// mayBeResizing reports whether the kubelet may not have carried out a resize yet, so that the containers may have other CPU and memory than the
// pod's spec.
func mayBeResizing(pod *corev1.Pod) bool {
	return podstate.IsResizing(pod) || podstate.HasOtherResources(pod) || !podstate.HasObserved(pod)
}

// snapshot returns the current state of a container, as far as the kubelet has reported it.
func (u Update) snapshot(wanted *corev1.Container) ContainerBefore {
	for status := range podstate.ContainerStatuses(u.Pod) {
		if status.Name != wanted.Name {
			continue
		}
		trouble := podstate.TroubleKind(u.Pod, status)
		if trouble == podstate.TroubleImage && u.Pod.Status.ObservedGeneration == 0 && podstate.Mentions(status.State.Waiting.Message, wanted.Image) {
			trouble += " " + wanted.Image // the update returns to this image, and the status does not show whether another one was tried since
		}
		return ContainerBefore{ImageID: status.ImageID, Restarts: status.RestartCount, Generation: u.Pod.Generation, Trouble: trouble}
	}
	return ContainerBefore{Generation: u.Pod.Generation}
}
