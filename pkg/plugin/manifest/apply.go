package manifest

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Applier is who applies PodManagers: kubectl apply, unless managedFields name another one, such as Flux, that does it on the server.
func Applier(live *v1.PodManager) string {
	applier := "kubectl"
	for _, entry := range live.ManagedFields {
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
			applier = entry.Manager
		}
	}
	return applier
}

// IsMerged tells whether kubectl apply merges the file on the client's side, because it did so before.
func IsMerged(live *v1.PodManager) bool {
	return live.Annotations[corev1.LastAppliedConfigAnnotation] != ""
}

// Patch is the merge patch of kubectl apply: all that the file sets, and null for what the last applied file had set and this one does not.
// What others have set, such as an autoscaler's replicas, stays.
func (m Manifest) Patch(live *v1.PodManager) (map[string]any, error) {
	last := map[string]any{}
	if text := live.Annotations[corev1.LastAppliedConfigAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &last); err != nil {
			return nil, err
		}
	}
	fields := maps.Clone(m.Fields)
	if metadata, isMap := fields["metadata"].(map[string]any); isMap {
		metadata = maps.Clone(metadata)
		metadata["namespace"] = live.Namespace // kubectl fills it in where the file leaves it out
		if metadata["annotations"] == nil {
			metadata["annotations"] = map[string]any{} // it will have kubectl's own
		}
		fields["metadata"] = metadata
	}
	patch := withRemovals(fields, last)
	delete(patch, "apiVersion")
	delete(patch, "kind")
	return patch, nil
}

// withRemovals adds null for each field that is only in last.
func withRemovals(fields, last map[string]any) map[string]any {
	patch := maps.Clone(fields)
	for key, before := range last {
		after, found := fields[key]
		beforeMap, wasMap := before.(map[string]any)
		afterMap, isMap := after.(map[string]any)
		switch {
		case !found:
			patch[key] = nil
		case wasMap && isMap:
			patch[key] = withRemovals(afterMap, beforeMap)
		}
	}
	return patch
}

// Merged is the PodManager after the patch, without the defaults of the API server.
func (m Manifest) Merged(live *v1.PodManager) (*v1.PodManager, error) {
	patch, err := m.Patch(live)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	if data, err = json.Marshal(merge(fields, patch)); err != nil {
		return nil, err
	}
	merged := &v1.PodManager{}
	return merged, json.Unmarshal(data, merged)
}

// merge applies a merge patch (RFC 7386).
func merge(fields, patch map[string]any) map[string]any {
	merged := map[string]any{}
	maps.Copy(merged, fields)
	for key, value := range patch {
		below, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(merged, key)
		case isMap:
			old, _ := merged[key].(map[string]any)
			merged[key] = merge(old, below)
		default:
			merged[key] = value
		}
	}
	return merged
}
