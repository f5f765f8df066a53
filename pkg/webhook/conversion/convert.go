package conversion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/apis/podmanager/v1alpha1"
)

var (
	hub   = v1.GroupVersion.String()
	alpha = v1alpha1.GroupVersion.String()
)

// Convert is the object in another version. It shares values with the object, and changes none of them.
func Convert(object map[string]any, version string) (map[string]any, error) {
	from, _ := object["apiVersion"].(string)
	switch kind, _ := object["kind"].(string); {
	case kind != v1.Kind:
		return nil, fmt.Errorf("%s %q cannot be converted, only %s can", from, kind, v1.Kind)
	case from != hub && from != alpha:
		return nil, fmt.Errorf("%s of version %q cannot be converted, only of %s and %s", kind, from, hub, alpha)
	case version != hub && version != alpha:
		return nil, fmt.Errorf("%s cannot be converted to version %q, only to %s and %s", kind, version, hub, alpha)
	case from == version:
		return object, nil
	case version == hub:
		return alphaToHub(object), nil
	default:
		return hubToAlpha(object), nil
	}
}

// hubToAlpha shows what v1alpha1 can say, and keeps all of v1 in the status.
func hubToAlpha(object map[string]any) map[string]any {
	converted := maps.Clone(object)
	converted["apiVersion"] = alpha
	status := map[string]any{}
	if spec, isObject := object["spec"].(map[string]any); isObject {
		shown := map[string]any{}
		move(spec, "replicas", shown, "size")
		if template, hasTemplate := spec["template"].(map[string]any); hasTemplate {
			container := firstContainer(template)
			move(container, "image", shown, "image")
			move(container, "command", shown, "command")
		} else {
			move(spec, "image", shown, "image")
		}
		converted["spec"] = shown
		status["v1Spec"] = encode(spec)
	}
	if observed, isObject := object["status"].(map[string]any); isObject {
		move(observed, "podNames", status, "nodes")
		move(observed, "readyReplicas", status, "readyNodes")
		status["v1Status"] = observed
	}
	converted["status"] = status
	return converted
}

// alphaToHub begins with what was kept, and then v1alpha1 has its say.
func alphaToHub(object map[string]any) map[string]any {
	converted := maps.Clone(object)
	converted["apiVersion"] = hub
	status, _ := object["status"].(map[string]any)
	if spec, isObject := object["spec"].(map[string]any); isObject {
		converted["spec"] = hubSpec(spec, decode(status["v1Spec"]))
	}
	kept, wasKept := status["v1Status"].(map[string]any)
	observed := maps.Clone(kept)
	if observed == nil {
		observed = map[string]any{}
	}
	move(status, "nodes", observed, "podNames")
	move(status, "readyNodes", observed, "readyReplicas")
	if converted["status"] = observed; !wasKept && len(observed) == 0 {
		delete(converted, "status")
	}
	return converted
}

// hubSpec is the spec of v1 that was kept, with the size, image and command of v1alpha1.
func hubSpec(shown, spec map[string]any) map[string]any {
	move(shown, "size", spec, "replicas")
	template, hasTemplate := spec["template"].(map[string]any)
	command, _ := shown["command"].([]any)
	if !hasTemplate && len(command) == 0 { // the short form of v1, which knows no command
		move(shown, "image", spec, "image")
		return spec
	}
	if !hasTemplate {
		delete(spec, "image")
	}
	container := maps.Clone(firstContainer(template))
	_, hasImage := shown["image"]
	switch _, hasCommand := shown["command"]; {
	case container == nil && !hasImage && !hasCommand: // a template without containers, and nothing to say about one
		return spec
	case container == nil:
		container = map[string]any{"name": v1.ShorthandContainer}
	}
	move(shown, "image", container, "image")
	move(shown, "command", container, "command")
	spec["template"] = withFirstContainer(template, container)
	return spec
}

// move makes a field of one object that of another, under its name there. What the first does not have, the other has not either.
func move(from map[string]any, name string, to map[string]any, as string) {
	if value, has := from[name]; has {
		to[as] = value
	} else {
		delete(to, as)
	}
}

func firstContainer(template map[string]any) map[string]any {
	spec, _ := template["spec"].(map[string]any)
	if containers, _ := spec["containers"].([]any); len(containers) > 0 {
		container, _ := containers[0].(map[string]any)
		return container
	}
	return nil
}

func withFirstContainer(template, container map[string]any) map[string]any {
	template = cloned(template)
	spec, _ := template["spec"].(map[string]any)
	spec = cloned(spec)
	containers, _ := spec["containers"].([]any)
	if containers = slices.Clone(containers); len(containers) > 0 {
		containers[0] = container
	} else {
		containers = []any{container}
	}
	spec["containers"] = containers
	template["spec"] = spec
	return template
}

// cloned is a copy that can be written to.
func cloned(object map[string]any) map[string]any {
	if object == nil {
		return map[string]any{}
	}
	return maps.Clone(object)
}

// encode is an object as JSON with sorted keys: the same for the same object.
func encode(object map[string]any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // the text becomes a value in JSON once more, and people may read it
	if err := encoder.Encode(object); err != nil {
		return "" // it came as JSON, so that cannot be
	}
	return string(bytes.TrimSpace(text.Bytes()))
}

// decode is the object in a text; an empty one if there is none. Whoever writes nonsense there, with an API server that lets them, gets what
// v1alpha1 says, and nobody gets an error.
func decode(text any) map[string]any {
	encoded, _ := text.(string)
	object, err := decodeObject([]byte(encoded))
	if err != nil || object == nil {
		return map[string]any{}
	}
	return object
}

// decodeObject keeps numbers as they are written.
func decodeObject(data []byte) (object map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err = decoder.Decode(&object)
	return object, err
}
