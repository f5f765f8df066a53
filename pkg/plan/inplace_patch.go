package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Change is what the step changes in the pod's containers.
func (i InPlace) Change() Change {
	change, _ := changeBetween(i.From.Template(), i.To.Template())
	return change
}

// TakesTheNode tells whether the pod's node has something to do for the change: it tells when that is done.
func (i InPlace) TakesTheNode() bool {
	return i.Change().takesTheNode()
}

func (c Change) takesTheNode() bool { return len(c.Images)+len(c.Resources) > 0 }

// Patch is the strategic merge patch that changes labels, annotations and images. It also leaves the record that tells
// when the node has followed.
func (i InPlace) Patch(manager *v1.PodManager, now time.Time) ([]byte, error) {
	change := i.Change()
	left := record{Revision: i.To.Hash, At: now.UTC().Truncate(time.Second), Restarts: restarts(i.Pod)}
	var containers []any
	for _, name := range slices.Sorted(maps.Keys(change.Images)) {
		image := change.Images[name]
		containers = append(containers, map[string]any{"name": name, "image": image})
		if i.isTakenBack(name, image) {
			continue
		}
		left.expect(i, name, image)
	}
	for name := range change.Resources {
		if _, found := change.Images[name]; !found && restartsWhenResized(i.To.Template(), name) {
			left.expect(i, name, imageOf(i.To.Template(), name))
		}
	}
	note, err := json.Marshal(left)
	if err != nil {
		return nil, err
	}
	index := indexOf(manager.Name, i.Pod.Name)
	from, to := i.From.Template(), i.To.Template()
	annotations := difference(from.Annotations, to.Annotations)
	annotations[v1.AnnotationInPlace] = string(note)
	patch := map[string]any{"metadata": map[string]any{
		"uid":         i.Pod.UID,
		"annotations": annotations,
		"labels": difference(podLabels(manager, from.Labels, i.From.Hash, index),
			podLabels(manager, to.Labels, i.To.Hash, index)),
	}}
	if len(containers) > 0 {
		patch["spec"] = map[string]any{"containers": containers}
	}
	return json.Marshal(patch)
}

// isTakenBack tells whether a container gets back the image that it still runs, as its node has not yet followed the last
// change. It may never be restarted then, so there is nothing to wait for.
func (i InPlace) isTakenBack(container, image string) bool {
	last, found := inPlaceRecord(i.Pod).Containers[container]
	return found && last.From == image && !isChanged(i.Pod, container, last)
}

// expect notes that a container will be restarted with an image, and what it is before.
func (r *record) expect(i InPlace, container, image string) {
	before := containerBefore{From: imageOf(i.From.Template(), container), Image: image}
	for status := range containerStatuses(i.Pod) {
		if status.Name == container {
			before.ImageID, before.Restarts = status.ImageID, status.RestartCount
		}
	}
	if r.Containers == nil {
		r.Containers = map[string]containerBefore{}
	}
	r.Containers[container] = before
}

// restartsWhenResized tells whether the container may be restarted when it gets other resources.
func restartsWhenResized(template *corev1.PodTemplateSpec, container string) bool {
	restarts := func(p corev1.ContainerResizePolicy) bool { return p.RestartPolicy == corev1.RestartContainer }
	return slices.ContainsFunc(template.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == container && slices.ContainsFunc(c.ResizePolicy, restarts)
	})
}

func imageOf(template *corev1.PodTemplateSpec, container string) string {
	for i := range template.Spec.Containers {
		if template.Spec.Containers[i].Name == container {
			return template.Spec.Containers[i].Image
		}
	}
	return ""
}

// ResizePatch is the patch for the pod's resize subresource; nil if CPU and memory stay.
func (i InPlace) ResizePatch() ([]byte, error) {
	change := i.Change()
	if len(change.Resources) == 0 {
		return nil, nil
	}
	var containers []any
	for _, name := range slices.Sorted(maps.Keys(change.Resources)) {
		containers = append(containers, map[string]any{"name": name, "resources": change.Resources[name]})
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": i.Pod.UID},
		"spec":     map[string]any{"containers": containers},
	})
}

// RefusalPatch leaves a note on the pod that the API server has refused the change, so that it is not tried again.
func (i InPlace) RefusalPatch(message string) ([]byte, error) {
	refusal := record{Revision: i.To.Hash, Refused: oneLine("", message)}
	if last := inPlaceRecord(i.Pod); last.Revision != "" {
		refusal.Before = &last
	}
	note, err := json.Marshal(refusal)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": i.Pod.UID, "annotations": map[string]any{v1.AnnotationInPlace: string(note)},
	}})
}

// GatePatch is the patch for the pod's status that closes or opens the readiness gate.
func (i InPlace) GatePatch(now time.Time) ([]byte, error) {
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
