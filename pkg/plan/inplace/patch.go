package inplace

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
)

// BeginPatch is the patch that goes before the resize: it leaves a note that the pod may have other CPU and memory than its
// revision says. Whoever takes over in between knows by it that the change is to be completed, or undone. It is nil if there
// is nothing to resize, or the note is there. One of a change to another revision does not tell what this one may restart.
func (i Update) BeginPatch(now time.Time) ([]byte, error) {
	if len(i.Diff().Resources) == 0 || i.hasBegun() {
		return nil, nil
	}
	return i.notePatch(Record{Revision: i.To.Hash, At: now.UTC().Truncate(time.Second), Begun: true, Containers: i.resized(), Before: i.recordBefore()})
}

// hasBegun tells whether this very change has begun before.
func (i Update) hasBegun() bool { return HasBegun(i.Pod) && lastRecord(i.Pod).Revision == i.To.Hash }

// resized are the containers that are restarted to get other CPU or memory, as they are before.
func (i Update) resized() map[string]ContainerBefore {
	if i.hasBegun() {
		return lastRecord(i.Pod).Containers
	}
	found := i.newRecord(time.Time{}).Containers
	maps.DeleteFunc(found, func(_ string, before ContainerBefore) bool { return before.Had == nil })
	return found
}

// Patch is the strategic merge patch that changes labels, annotations and images. It also leaves the record that tells
// when the node has followed.
func (i Update) Patch(manager *v1.PodManager, now time.Time) ([]byte, error) {
	left := i.newRecord(now)
	if last := lastRecord(i.Pod); i.Step == StepRestore && last.Refused != "" {
		// It is still not to be tried again.
		restored := left
		left = Record{Revision: last.Revision, Refused: last.Refused, Before: &restored}
	}
	note, err := json.Marshal(left)
	if err != nil {
		return nil, err
	}
	index := podstate.IndexOf(manager.Name, i.Pod.Name)
	from, to := i.From.Template(), i.To.Template()
	annotations := difference(from.Annotations, to.Annotations)
	annotations[v1.AnnotationInPlace] = string(note)
	patch := map[string]any{"metadata": map[string]any{
		"uid":         i.Pod.UID,
		"annotations": annotations,
		"labels": difference(podstate.Labels(manager, from.Labels, i.From.Hash, index),
			podstate.Labels(manager, to.Labels, i.To.Hash, index)),
	}}
	var containers []any
	change := i.Diff()
	for _, name := range slices.Sorted(maps.Keys(change.Images)) {
		containers = append(containers, map[string]any{"name": name, "image": change.Images[name]})
	}
	if len(containers) > 0 {
		patch["spec"] = map[string]any{"containers": containers}
	}
	return json.Marshal(patch)
}

// ResizePatch is the patch for the pod's resize subresource; nil if CPU and memory stay. What a pod has for which another
// change had begun is not known, so it is told all of it.
func (i Update) ResizePatch() ([]byte, error) {
	amounts := i.Diff().Resources
	if HasBegun(i.Pod) {
		amounts = map[string]corev1.ResourceRequirements{}
		for _, container := range i.To.Template().Spec.Containers {
			if all := resizableOf(container.Resources); len(all.Requests)+len(all.Limits) > 0 {
				amounts[container.Name] = all
			}
		}
	}
	if len(amounts) == 0 {
		return nil, nil
	}
	var containers []any
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		containers = append(containers, map[string]any{"name": name, "resources": amounts[name]})
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": i.Pod.UID},
		"spec":     map[string]any{"containers": containers},
	})
}

// RefusalPatch leaves a note on the pod that the API server has refused the change, so that it is not tried again. resized
// tells that CPU and memory had gone through: they are to be restored.
func (i Update) RefusalPatch(message string, resized bool) ([]byte, error) {
	refusal := Record{Revision: i.To.Hash, Refused: podstate.OneLine("", message), Before: i.recordBefore()}
	if refusal.Begun = resized || HasBegun(i.Pod); refusal.Begun {
		refusal.Containers = i.resized()
	}
	if HasBegun(i.Pod) {
		refusal.At = lastRecord(i.Pod).At
	}
	return i.notePatch(refusal)
}

// recordBefore is the record of how the pod got the revision that it has; nil if it was made from it.
func (i Update) recordBefore() *Record {
	if last := CompletedRecord(i.Pod); last.Revision != "" {
		return &last
	}
	return nil
}

// notePatch leaves a record on the pod, and changes nothing else.
func (i Update) notePatch(left Record) ([]byte, error) {
	note, err := json.Marshal(left)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": i.Pod.UID, "annotations": map[string]any{v1.AnnotationInPlace: string(note)},
	}})
}

// GatePatch is the patch for the pod's status that closes or opens the readiness gate.
func (i Update) GatePatch(now time.Time) ([]byte, error) {
	status, reason := corev1.ConditionTrue, "InService"
	if i.Step == StepDrain {
		status, reason = corev1.ConditionFalse, "InPlaceUpdate"
		now = now.Add(time.Second - 1) // conditions have whole seconds: better a little too long than too short
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": i.Pod.UID},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": v1.InPlaceReady, "status": status, "reason": reason,
			"lastTransitionTime": now.UTC().Format(time.RFC3339),
		}}},
	})
}

// difference is what a merge patch has to say to get from one map to the other.
func difference(from, to map[string]string) map[string]any {
	changes := map[string]any{}
	for key := range from {
		if _, kept := to[key]; !kept {
			changes[key] = nil
		}
	}
	for key, value := range to {
		if before, had := from[key]; !had || before != value {
			changes[key] = value
		}
	}
	return changes
}
