package inplace

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// newRecord is the record of the change: what the pod is like before, and what its node is expected to do.
func (i Update) newRecord(now time.Time) Record {
	left := Record{Revision: i.To.Hash, At: now.UTC().Truncate(time.Second)}
	containers := i.To.Template().Spec.Containers
	for n := range containers {
		if before, restarts := i.expect(&containers[n]); restarts {
			if left.Containers == nil {
				left.Containers = map[string]ContainerBefore{}
			}
			left.Containers[containers[n].Name] = before
		}
	}
	for status := range podstate.ContainerStatuses(i.Pod) {
		other := OtherBefore{Restarts: status.RestartCount, Trouble: podstate.TroubleKind(i.Pod, status)}
		if _, found := left.Containers[status.Name]; !found && other != (OtherBefore{}) {
			if left.Others == nil {
				left.Others = map[string]OtherBefore{}
			}
			left.Others[status.Name] = other
		}
	}
	return left
}

// expect tells whether a container is, or may be, restarted to become what it is to be, and how it is before. What counts is
// what its node has: it may not have followed earlier changes, and may get back what it has.
func (i Update) expect(container *corev1.Container) (ContainerBefore, bool) {
	before := i.statusOf(container.Name)
	was := i.was(container.Name)
	image, had := was.Image, &was.Resources
	earlier, unfollowed := i.unfollowed(container)
	begun, wasBegun := lastRecord(i.Pod).Containers[container.Name]
	wasBegun = wasBegun && HasBegun(i.Pod)
	isOther := wasBegun && !i.hasBegun()
	seen := before.Restarts
	switch {
	case unfollowed:
		before.Generation = earlier.Generation
		// A container that runs none of the images that it may have by now is certain to be restarted once more.
		if isNew := container.Image != was.Image && container.Image != earlier.From; !isNew || earlier.Optional {
			before.ImageID, before.Restarts = earlier.ImageID, earlier.Restarts
		}
		image, had = cmp.Or(earlier.From, image), cmp.Or(earlier.Had, had)
	case wasBegun && was.Image == container.Image:
		had = cmp.Or(begun.Had, had)
		if begun.ImageID == "" || isOther && before.Restarts > begun.Restarts { // it was not even started, or has got something since
			had = unknown
		}
		before.Restarts, before.Generation = begun.Restarts, begun.Generation // it may have been restarted since
	case wasBegun:
		had, before.Generation = unknown, begun.Generation
	}
	if before.Restarts != seen {
		before.Seen = seen
	}
	if image != container.Image {
		before.From = image
	}
	resizes := restartsWhenResized(*had, container)
	if resizes || wasBegun || unfollowed && earlier.Had != nil { // it may have got others, and have to give them back
		before.Had = ptr.To(resizableOf(*had))
	}
	if before.From == "" && (!resizes || isUnknown(before.Had)) {
		before.Optional, before.From = unfollowed || wasBegun, i.takenBack(container, unfollowed)
		return before, before.Optional
	}
	if unfollowed && earlier.Optional { // it may have all of it already
		before.ImageID, before.Optional = "", true
	}
	return before, true
}

// takenBack is the image that a container may run although it is to have the one that it had before; empty if there is none.
func (i Update) takenBack(container *corev1.Container, unfollowed bool) string {
	if was := i.was(container.Name).Image; was != container.Image {
		return was
	}
	if earlier := CompletedRecord(i.Pod).Containers[container.Name]; unfollowed && earlier.Optional && earlier.From != container.Image {
		return earlier.From
	}
	return ""
}

// was is how a container is before the change, as its revision says. A pod that was made by hand may have another image, also once
// it was changed in other ways, and other CPU and memory, of which it gets all anew with those that change.
func (i Update) was(container string) *corev1.Container {
	was, own := podstate.ContainerNamed(&i.From.Template().Spec, container), podstate.ContainerNamed(&i.Pod.Spec, container)
	if own == nil {
		return was
	}
	actual := *was
	if _, changed := i.Diff().Images[container]; changed {
		actual.Image = own.Image
	}
	if _, resized := i.Diff().Resources[container]; podstate.IsMadeByHand(i.Pod) && (resized || HasBegun(i.Pod)) {
		actual.Resources = own.Resources
	}
	return &actual
}

// statusOf is how a container is, as far as its node has told.
func (i Update) statusOf(container string) ContainerBefore {
	for status := range podstate.ContainerStatuses(i.Pod) {
		if status.Name == container {
			return ContainerBefore{
				ImageID: status.ImageID, Restarts: status.RestartCount, Generation: i.Pod.Generation, Trouble: podstate.TroubleKind(i.Pod, status),
			}
		}
	}
	return ContainerBefore{Generation: i.Pod.Generation}
}

// unfollowed is what the pod's node has yet to do to a container because of an earlier change. A node that tells what it has
// seen may not have seen that, although the container was restarted for another reason; and it may have the image, but not
// the CPU and memory. It is optional if not even the image is known that the container runs.
func (i Update) unfollowed(container *corev1.Container) (ContainerBefore, bool) {
	earlier, found := CompletedRecord(i.Pod).Containers[container.Name]
	now := i.statusOf(container.Name)
	seen := found && IsRestarted(i.Pod, container.Name, earlier) && podstate.HasObserved(i.Pod)
	isAsBefore := earlier.Optional && earlier.ImageID != "" && now.Restarts == earlier.Restarts // it takes a restart to get anything else
	switch {
	case !found || seen && (earlier.Had == nil || !podstate.IsResizing(i.Pod) && (!earlier.Optional || i.Pod.Status.ObservedGeneration > 0)):
		return ContainerBefore{}, false
	case !seen && !earlier.Optional: // whatever it got on the way, it was restarted if that is not what it had
		return earlier, true
	case isAsBefore:
		now.Had = earlier.Had
	case earlier.Had != nil || HasBegun(i.Pod):
		now.Had = unknown
	}
	now.Generation = earlier.Generation
	switch isOther := now.ImageID != earlier.ImageID; {
	case earlier.Optional && earlier.ImageID == "":
		now.Optional = true
	case earlier.Optional && (isOther || !isAsBefore && container.Image == earlier.From):
		now.From = earlier.From // it runs what was taken back, or may do so under another name of the same image
	}
	return now, true
}
