package inplace

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/pkg/plan/compare"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// newRecord is the record of the update: the state of the containers before it.
func (u Update) newRecord(now time.Time) Record {
	record := Record{Revision: u.To.Hash, At: now.UTC().Truncate(time.Second), Resized: len(u.amounts(u.Diff())) > 0 || hasUnfinishedResize(u.Pod)}
	containers := u.To.Template().Spec.Containers
	for i := range containers {
		if before, isExpected := u.expectRestart(&containers[i]); isExpected {
			if record.Containers == nil {
				record.Containers = map[string]ContainerBefore{}
			}
			record.Containers[containers[i].Name] = before
		}
	}
	for status := range podstate.ContainerStatuses(u.Pod) {
		other := OtherBefore{Restarts: status.RestartCount, Trouble: podstate.TroubleKind(u.Pod, status)}
		if _, found := record.Containers[status.Name]; !found && other != (OtherBefore{}) {
			if record.Others == nil {
				record.Others = map[string]OtherBefore{}
			}
			record.Others[status.Name] = other
		}
	}
	return record
}

// expectRestart tells whether the kubelet restarts, or may restart, a container for the update, and returns the container's state before
// that. It compares the update with what the kubelet has given the container so far, not with the pod's spec: the kubelet may not have
// carried out earlier updates, and this update may revert them.
func (u Update) expectRestart(container *corev1.Container) (before ContainerBefore, isExpected bool) {
	before = u.snapshot(container)
	old := u.oldContainer(container.Name)
	image, resources := old.Image, &old.Resources
	earlier, isOutstanding := u.outstanding(container)
	begun, isInterrupted := lastRecord(u.Pod).Containers[container.Name]
	isInterrupted = isInterrupted && IsInterrupted(u.Pod)
	toOtherRevision := isInterrupted && !u.continuesInterrupted()
	restarts := before.Restarts
	switch {
	case isOutstanding:
		before.Generation = earlier.Generation
		// If the container cannot have the new image yet, the kubelet is certain to restart it once more.
		if isNew := container.Image != old.Image && container.Image != earlier.From; !isNew || earlier.Optional {
			before.ImageID, before.Restarts = earlier.ImageID, earlier.Restarts
		}
		image, resources = cmp.Or(earlier.From, image), cmp.Or(earlier.Had, resources)
	case isInterrupted && old.Image == container.Image:
		resources = cmp.Or(begun.Had, resources)
		if begun.ImageID == "" || toOtherRevision && before.Restarts > begun.Restarts {
			resources = unknownResources // the container may have been started or restarted with either resources
		}
		before.Restarts, before.Generation = begun.Restarts, begun.Generation // the interrupted update may have restarted it since
	case isInterrupted:
		resources, before.Generation = unknownResources, begun.Generation
	}
	if before.Restarts != restarts {
		before.Seen = restarts
	}
	if image != container.Image {
		before.From = image
	}
	resizeRestarts := compare.RestartsWhenResized(*resources, container)
	if resizeRestarts || isInterrupted || isOutstanding && earlier.Had != nil { // this update may revert an earlier resize
		before.Had = ptr.To(compare.Resizable(*resources))
	}
	if before.From == "" && (!resizeRestarts || isUnknown(before.Had)) { // no restart is certain
		before.Optional, before.From = isOutstanding || isInterrupted, u.revertedImage(container, isOutstanding)
		return before, before.Optional
	}
	if isOutstanding && earlier.Optional { // the container may already have all that this update gives it
		before.ImageID, before.Optional = "", true
	}
	return before, true
}

// revertedImage is the image that the container may run because of an update that this update, or an earlier one, reverts; empty if
// there is none.
func (u Update) revertedImage(container *corev1.Container, isOutstanding bool) string {
	if old := u.oldContainer(container.Name).Image; old != container.Image {
		return old
	}
	if earlier := CompletedRecord(u.Pod).Containers[container.Name]; isOutstanding && earlier.Optional && earlier.From != container.Image {
		return earlier.From
	}
	return ""
}

// oldContainer is the container before the update, as the pod's revision says, except where a pod that was made by hand differs: its
// image, which may differ even after updates that left the image alone; and its CPU and memory, if a resize is to set them.
func (u Update) oldContainer(name string) *corev1.Container {
	old, own := podstate.ContainerNamed(&u.From.Template().Spec, name), podstate.ContainerNamed(&u.Pod.Spec, name)
	if own == nil {
		return old
	}
	actual := *old
	if _, changed := u.Diff().Images[name]; changed {
		actual.Image = own.Image
	}
	if _, resized := u.Diff().Resources[name]; podstate.IsMadeByHand(u.Pod) && (resized || IsInterrupted(u.Pod)) {
		actual.Resources = own.Resources
	}
	return &actual
}

// snapshot is the present state of a container, as far as the kubelet has reported it.
func (u Update) snapshot(container *corev1.Container) ContainerBefore {
	for status := range podstate.ContainerStatuses(u.Pod) {
		if status.Name != container.Name {
			continue
		}
		trouble := podstate.TroubleKind(u.Pod, status)
		if trouble == podstate.TroubleImage && u.Pod.Status.ObservedGeneration == 0 && podstate.Mentions(status.State.Waiting.Message, container.Image) {
			trouble += " " + container.Image // the update returns to that image, and nobody can tell whether the kubelet ever left it
		}
		return ContainerBefore{ImageID: status.ImageID, Restarts: status.RestartCount, Generation: u.Pod.Generation, Trouble: trouble}
	}
	return ContainerBefore{Generation: u.Pod.Generation}
}

// outstanding tells whether the kubelet has yet to carry out an earlier update of a container, and returns the state from which it will.
// A restart alone does not prove that the kubelet has carried out the update: the container may have been restarted for another reason,
// before the kubelet observed the update; or the kubelet may have changed the image, but not yet CPU and memory. The state is Optional
// if nobody can tell even which image the container runs.
func (u Update) outstanding(container *corev1.Container) (ContainerBefore, bool) {
	earlier, found := CompletedRecord(u.Pod).Containers[container.Name]
	now := u.snapshot(container)
	isRestarted := found && IsRestarted(u.Pod, container.Name, earlier) && podstate.HasObserved(u.Pod)
	isResizing := podstate.IsResizing(u.Pod) || podstate.HasOtherResources(u.Pod)               // a kubelet may tell late that it has a resize to carry out
	isAsBefore := earlier.Optional && earlier.ImageID != "" && now.Restarts == earlier.Restarts // without a restart it has what it had
	switch {
	case !found,
		isRestarted && (earlier.Had == nil || !isResizing && (!earlier.Optional || u.Pod.Status.ObservedGeneration > 0)):
		return ContainerBefore{}, false
	case !isRestarted && !earlier.Optional: // still valid: to get anything else, the container has to be restarted
		return earlier, true
	case isAsBefore:
		now.Had = earlier.Had
	case earlier.Had != nil || IsInterrupted(u.Pod):
		now.Had = unknownResources
	}
	now.Generation = earlier.Generation
	switch isOtherImage := now.ImageID != earlier.ImageID; {
	case earlier.Optional && earlier.ImageID == "":
		now.Optional = true
	case earlier.Optional && (isOtherImage || !isAsBefore && container.Image == earlier.From):
		now.From = earlier.From // the container runs the reverted image, or may run it: two names can stand for the same image
	}
	return now, true
}
