package inplace

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/plan/compare"
	"github.com/mycompany/podmanager/pkg/plan/podstate"
	"github.com/mycompany/podmanager/pkg/plan/requeue"
)

// BeginPatch returns the patch that precedes the resize. The patch records that the pod may have other CPU and memory than its revision, so that a
// controller that takes over in between knows that it has to complete or revert the update. BeginPatch returns nil if there is nothing to resize, or
// if this update has already begun. If an update to another revision was interrupted, the patch replaces its record, which does not cover all
// containers that this update may restart.
func (u Update) BeginPatch(now time.Time) ([]byte, error) {
	if len(u.Diff().Resources) == 0 || u.continuesInterrupted() {
		return nil, nil
	}
	return u.recordPatch(Record{
		Revision: u.To.Hash, At: now.UTC().Truncate(time.Second), Begun: true, Containers: u.restartedByResize(), Before: u.recordBefore(),
	})
}

// continuesInterrupted reports whether the pod's interrupted update was to the same revision as this update.
func (u Update) continuesInterrupted() bool {
	return begunRecord(u.Pod).Revision == u.To.Hash
}

// restartedByResize returns the state of the containers that the kubelet may restart for the resize of this update, or for the resize of an
// interrupted update.
func (u Update) restartedByResize() map[string]ContainerBefore {
	if u.continuesInterrupted() {
		return begunRecord(u.Pod).Containers
	}
	containers := map[string]ContainerBefore{}
	maps.Copy(containers, begunRecord(u.Pod).Containers)
	for name, before := range u.newRecord(time.Time{}).Containers {
		// A restart that was Optional for the interrupted update may be necessary for this one.
		if before.Had != nil || containers[name].Optional {
			containers[name] = before
		}
	}
	return containers
}

// Patch returns the strategic merge patch that completes the update: it changes labels, annotations and images, and writes the Record.
func (u Update) Patch(manager *v1.PodManager, now time.Time) ([]byte, error) {
	record := u.newRecord(now)
	if u.Step == StepRestore {
		record.Restored, record.RevisionAt = true, RevisedAt(u.Pod)
	}
	if last := lastRecord(u.Pod); u.Step == StepRestore && last.Refused != "" {
		// Keep the refusal, so that the refused update is not tried again at once.
		restored := record
		record = Record{Revision: last.Revision, Refused: last.Refused, RetryAt: last.RetryAt, Before: &restored}
	}
	encoded, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	index := podstate.IndexOf(manager.Name, u.Pod.Name)
	from, to := u.From.Template(), u.To.Template()
	annotations := difference(from.Annotations, to.Annotations)
	annotations[v1.AnnotationInPlace] = string(encoded)
	metadata := map[string]any{
		"uid":         u.Pod.UID,
		"annotations": annotations,
		"labels": difference(podstate.Labels(manager, from.Labels, u.From.Hash, index),
			podstate.Labels(manager, to.Labels, u.To.Hash, index)),
	}
	if u.isResized() {
		metadata["resourceVersion"] = u.Pod.ResourceVersion // the patch must fail if another client has reverted the resize since
	}
	patch := map[string]any{"metadata": metadata}
	var containers []any
	images := u.Diff().Images
	for _, name := range slices.Sorted(maps.Keys(images)) {
		containers = append(containers, map[string]any{"name": name, "image": images[name]})
	}
	if len(containers) > 0 {
		patch["spec"] = map[string]any{"containers": containers}
	}
	return json.Marshal(patch)
}

// ResizePatch returns the patch for the pod's resize subresource, or nil if there is nothing to resize.
func (u Update) ResizePatch() ([]byte, error) {
	amounts := u.amounts(u.Diff())
	if len(amounts) == 0 || u.isResized() {
		return nil, nil
	}
	spec, containers := map[string]any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		if name == compare.OfPod {
			spec["resources"] = amounts[name]
		} else {
			containers = append(containers, map[string]any{"name": name, "resources": amounts[name]})
		}
	}
	if len(containers) > 0 {
		spec["containers"] = containers
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": u.Pod.UID}, "spec": spec})
}

// retryAfter is the delay after which a forbidden update may be retried. It is long because each attempt may drain the pod.
const retryAfter = 5 * time.Minute

// RefusalPatch returns the patch that records that the API server refused the update, so that it is not retried at once. resized is whether the API
// server had accepted the resize, which StepRestore then has to revert.
func (u Update) RefusalPatch(failure requeue.Failure, resized bool, now time.Time) ([]byte, error) {
	refusal := Record{Revision: u.To.Hash, Refused: podstate.OneLine("", failure.Message), Before: u.recordBefore()}
	if failure.Reason == v1.ReasonForbidden {
		refusal.RetryAt = now.Add(retryAfter).UTC().Truncate(time.Second)
	}
	if refusal.Begun = resized || IsInterrupted(u.Pod); refusal.Begun {
		refusal.At, refusal.Containers = begunRecord(u.Pod).At, u.restartedByResize()
	}
	return u.recordPatch(refusal)
}

// recordBefore returns the value of Record.Before: the CompletedRecord, or nil if there is none.
func (u Update) recordBefore() *Record {
	if last := CompletedRecord(u.Pod); last.Revision != "" {
		return &last
	}
	return nil
}

// recordPatch returns a patch that writes a Record to the pod and changes nothing else.
func (u Update) recordPatch(record Record) ([]byte, error) {
	encoded, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": u.Pod.UID, "annotations": map[string]any{v1.AnnotationInPlace: string(encoded)},
	}})
}

// GatePatch returns the patch for the pod's status that closes or opens the readiness gate. A closed gate says whether the pod was not ready anyway,
// see podstate.WasUnready.
func (u Update) GatePatch(now time.Time) ([]byte, error) {
	status, reason, message := corev1.ConditionTrue, "InService", ""
	if u.Step == StepDrain {
		status, reason, message = corev1.ConditionFalse, "InPlaceUpdate", podstate.UnreadySince(u.Pod)
		now = now.Add(time.Second - 1) // conditions have whole seconds: draining a little too long is better than too short
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": u.Pod.UID},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": v1.InPlaceReady, "status": status, "reason": reason, "message": message,
			"lastTransitionTime": now.UTC().Format(time.RFC3339),
		}}},
	})
}

// difference returns the merge patch from one map to the other.
func difference(from, to map[string]string) map[string]any {
	changes := map[string]any{}
	for key := range from {
		if _, found := to[key]; !found {
			changes[key] = nil
		}
	}
	for key, value := range to {
		if before, found := from[key]; !found || before != value {
			changes[key] = value
		}
	}
	return changes
}
