package fields

import v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"

// templateTrials returns values for the fields of the template that matter most to a controller. If the CRD admits an invalid value, the API server
// refuses the pod, and the status must report it.
func templateTrials() []Trial {
	// While a rollout is stuck, the status reports one of these reasons. The rollout leaves the existing pods alone.
	invalid := []string{v1.ReasonInvalidPod}
	unready := []string{v1.ReasonRollingOut, v1.ReasonHalted, v1.ReasonPodsNotReady}
	metadata, spec := []string{"template", "metadata"}, []string{"template", "spec"}
	in := func(folder []string, name string) []string { return append(folder[:len(folder):len(folder)], name) }
	containers := func(more map[string]any) []any {
		container := map[string]any{"name": "app", "image": "nginx:1.28"}
		for name, value := range more {
			container[name] = value
		}
		return []any{container}
	}
	resources := func(requests, limits map[string]any) []any {
		return containers(map[string]any{"resources": map[string]any{"requests": requests, "limits": limits}})
	}
	return []Trial{
		{path: []string{"template"}, Refused: true, word: "set exactly one of spec.image"},
		{path: in(metadata, "labels"), value: map[string]any{"team": "a"}},
		{path: in(metadata, "labels"), value: map[string]any{v1.LabelManager: "other"}, Refused: true, word: v1.LabelManager},
		{path: in(metadata, "labels"), value: map[string]any{v1.LabelManagerUID: "x"}, Refused: true, word: v1.LabelManagerUID},
		{path: in(metadata, "labels"), value: map[string]any{v1.LabelRevision: "x"}, Refused: true, word: v1.LabelRevision},
		{path: in(metadata, "labels"), value: map[string]any{"not a label": "x"}, Held: invalid},
		{path: in(metadata, "annotations"), value: map[string]any{"note": "x"}},
		{path: in(metadata, "annotations"), value: map[string]any{"note": 5}, Refused: true},
		{path: in(metadata, "annotations"), value: map[string]any{v1.AnnotationDelete: "true"}, Refused: true, word: v1.AnnotationDelete},
		{path: in(spec, "containers"), Refused: true},
		{path: in(spec, "containers"), value: []any{}, Refused: true},
		{path: in(spec, "containers"), value: containers(nil)},
		{path: in(spec, "containers"), value: containers(map[string]any{"image": "nginx:does-not-exist"}), Held: unready},
		{path: in(spec, "containers"), value: containers(map[string]any{"image": "nginx:never-ready"}), Held: unready},
		{path: in(spec, "containers"), value: containers(map[string]any{"image": ""}), Held: invalid},
		{path: in(spec, "containers"), value: containers(map[string]any{"name": "Not A Name"}), Held: invalid},
		{path: in(spec, "containers"), value: append(containers(nil), containers(nil)...), Refused: true},
		{path: in(spec, "containers"), value: containers(map[string]any{"env": []any{map[string]any{"name": "A", "value": "b"}}})},
		{path: in(spec, "containers"), value: containers(map[string]any{"env": []any{map[string]any{"value": "b"}}}), Refused: true, word: "env"},
		{path: in(spec, "containers"), value: containers(map[string]any{"env": []any{map[string]any{"name": "", "value": "b"}}}), Held: invalid},
		{path: in(spec, "containers"), value: resources(map[string]any{"cpu": "100m", "memory": 1 << 20}, nil)},
		{path: in(spec, "containers"), value: resources(map[string]any{"cpu": "2"}, map[string]any{"cpu": "1"}), Held: invalid},
		{path: in(spec, "containers"), value: resources(map[string]any{"cpu": "10000"}, nil), Held: unready},
		{path: in(spec, "containers"), value: resources(map[string]any{"cpu": "much"}, nil), Refused: true, word: "cpu"},
		{path: in(spec, "restartPolicy"), value: "Always"},
		{path: in(spec, "restartPolicy"), value: "Never", Refused: true},
		{path: in(spec, "restartPolicy"), value: "OnFailure", Refused: true},
		{path: in(spec, "activeDeadlineSeconds"), value: 600, Refused: true, word: "remove it"},
		{path: in(spec, "nodeSelector"), value: map[string]any{"type": "kwok"}},
		{path: in(spec, "nodeSelector"), value: map[string]any{"nowhere": ""}, Held: unready},
		{path: in(spec, "nodeSelector"), value: "nowhere", Refused: true},
		{path: in(spec, "readinessGates"), value: []any{}},
		{path: in(spec, "readinessGates"), value: []any{map[string]any{"conditionType": "example.com/gate"}}, Held: unready},
		{path: in(spec, "readinessGates"), value: []any{map[string]any{}}, Refused: true},
		{path: in(spec, "terminationGracePeriodSeconds"), value: 0},
		{path: in(spec, "terminationGracePeriodSeconds"), value: 1},
		{path: in(spec, "terminationGracePeriodSeconds"), value: "soon", Refused: true},
	}
}
