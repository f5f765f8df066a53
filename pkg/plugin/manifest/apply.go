package manifest

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Applier returns the field manager that applies the PodManager. It is kubectl unless managedFields name a server-side applier, such as Flux.
func Applier(live *v1.PodManager) string {
	applier := "kubectl"
	for _, entry := range live.ManagedFields {
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
			applier = entry.Manager
		}
	}
	return applier
}

// IsMerged reports whether kubectl apply merges the file on the client side, because the last apply was a client-side one.
func IsMerged(live *v1.PodManager) bool {
	return live.Annotations[corev1.LastAppliedConfigAnnotation] != ""
}

// Patch returns the merge patch that kubectl apply sends: all fields that the file sets, and null for fields that only the last applied file
// sets. Fields that other clients own, such as replicas set by an autoscaler, are kept.
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
		metadata["namespace"] = live.Namespace // kubectl fills it in if the file omits it
		if metadata["annotations"] == nil {
			metadata["annotations"] = map[string]any{} // kubectl adds its own annotation
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

// Merged returns the PodManager after the patch, without the API server's defaults.
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
