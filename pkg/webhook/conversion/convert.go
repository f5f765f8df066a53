package conversion

import (
	"bytes"
	"encoding/json"
	"fmt"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
	"github.com/mycompany/podmanager/pkg/apis/podmanager/v1alpha1"
	"github.com/mycompany/podmanager/pkg/bounds"
)

var (
	hub   = v1.GroupVersion.String()
	alpha = v1alpha1.GroupVersion.String()
)

// check says why an object cannot be converted to a version. It comes before convert, which always succeeds.
func check(object raw, version string) error {
	header := object.pick("apiVersion", "kind")
	from, kind := bounds.Short(header["apiVersion"].text()), bounds.Short(header["kind"].text())
	switch {
	case kind != v1.Kind:
		return fmt.Errorf("%s %q cannot be converted, only %s can", from, kind, v1.Kind)
	case from != hub && from != alpha:
		return fmt.Errorf("%s of version %q cannot be converted, only of %s and %s", kind, from, hub, alpha)
	case version != hub && version != alpha:
		return fmt.Errorf("%s cannot be converted to version %q, only to %s and %s", kind, bounds.Short(version), hub, alpha)
	}
	return nil
}

// convert is the object in another version.
func convert(object raw, version string) value {
	switch object.pick("apiVersion")["apiVersion"].text() {
	case version:
		return object
	case alpha:
		return alphaToHub(object)
	default:
		return hubToAlpha(object)
	}
}

// hubToAlpha shows what v1alpha1 can say, and keeps all of v1 in the status.
func hubToAlpha(object raw) value {
	status := map[string]value{}
	converted := map[string]value{"apiVersion": stringOf(alpha), "status": edited{fields: status}}
	parts := object.pick("spec", "status")
	if spec := parts["spec"]; spec.isObject() {
		shown := map[string]value{}
		fields := spec.pick("replicas", "template", "image")
		move(fields, "replicas", shown, "size")
		if template := fields["template"]; template.isObject() {
			container := firstContainer(template).pick("image", "command")
			move(container, "image", shown, "image")
			move(container, "command", shown, "command")
		} else {
			move(fields, "image", shown, "image")
		}
		converted["spec"] = edited{fields: shown}
		status["v1Spec"] = quoted(spec)
	}
	if observed := parts["status"]; observed.isObject() {
		fields := observed.pick("podNames", "readyReplicas")
		move(fields, "podNames", status, "nodes")
		move(fields, "readyReplicas", status, "readyNodes")
		status["v1Status"] = observed
	}
	return edited{object, converted}
}

// alphaToHub begins with what was kept, and then v1alpha1 has its say.
func alphaToHub(object raw) value {
	converted := map[string]value{"apiVersion": stringOf(hub)}
	parts := object.pick("spec", "status")
	status := parts["status"].pick("nodes", "readyNodes", "v1Spec", "v1Status")
	if spec := parts["spec"]; spec.isObject() {
		converted["spec"] = hubSpec(spec, decode(status["v1Spec"]))
	}
	observed := map[string]value{}
	move(status, "nodes", observed, "podNames")
	move(status, "readyNodes", observed, "readyReplicas")
	kept := status["v1Status"]
	if converted["status"] = nil; kept.isObject() || observed["podNames"] != nil || observed["readyReplicas"] != nil {
		converted["status"] = edited{kept, observed}
	}
	return edited{object, converted}
}

// hubSpec is the spec of v1 that was kept, with the size, image and command of v1alpha1.
func hubSpec(shown, kept raw) value {
	fields := shown.pick("size", "image", "command")
	spec := map[string]value{}
	move(fields, "size", spec, "replicas")
	template := kept.pick("template")["template"]
	if !template.isObject() {
		if isEmpty(fields["command"]) { // the short form of v1, which knows no command
			move(fields, "image", spec, "image")
			return edited{kept, spec}
		}
		template, spec["image"] = nil, nil
	}
	first, container := firstContainer(template), map[string]value{}
	if first == nil {
		if fields["image"] == nil && fields["command"] == nil { // a template without containers, and nothing to say about one
			return edited{kept, spec}
		}
		container["name"] = stringOf(v1.ShorthandContainer)
	}
	move(fields, "image", container, "image")
	move(fields, "command", container, "command")
	spec["template"] = withFirstContainer(template, edited{first, container})
	return edited{kept, spec}
}

// move makes a field of one object that of another, under its name there. What the first does not have, the other has not either.
func move(from map[string]raw, name string, to map[string]value, as string) {
	if to[as] = nil; from[name] != nil {
		to[as] = from[name]
	}
}

// isEmpty reports whether a command is none: an empty list, or no list.
func isEmpty(command raw) bool {
	for range bounds.Elements(command) {
		return false
	}
	return true
}

// firstContainer is that of a template; nil if there is none.
func firstContainer(template raw) raw {
	for first := range bounds.Elements(template.pick("spec")["spec"].pick("containers")["containers"]) {
		if container := raw(first); container.isObject() {
			return container
		}
		break
	}
	return nil
}

func withFirstContainer(template raw, container value) value {
	spec := template.pick("spec")["spec"]
	containers := withFirst{container, spec.pick("containers")["containers"]}
	return edited{template, map[string]value{"spec": edited{spec, map[string]value{"containers": containers}}}}
}

// decode is the object in a string; nil if there is none. If an API server lets a client write nonsense there, the object is what v1alpha1
// says, and the conversion does not fail.
func decode(kept raw) raw {
	object := raw(bytes.TrimSpace([]byte(kept.text())))
	if !object.isObject() || !json.Valid(object) || bounds.Check(object, nil) != nil {
		return nil
	}
	return object
}
