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

// check returns an error if an object cannot be converted to a version. It must be called before convert, which always succeeds.
func check(object raw, version string) error {
	header := object.pick("apiVersion", "kind")
	from, kind := bounds.Short(header["apiVersion"].text()), bounds.Short(header["kind"].text())
	switch {
	case kind != v1.Kind:
		return fmt.Errorf("%s %q cannot be converted, only %s can", from, kind, v1.Kind)
	case from != hub && from != alpha:
		return fmt.Errorf("%s of version %q cannot be converted, only those of %s and %s", kind, from, hub, alpha)
	case version != hub && version != alpha:
		return fmt.Errorf("%s cannot be converted to version %q, only to %s and %s", kind, bounds.Short(version), hub, alpha)
	}
	return nil
}

// convert returns the object in another version.
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

// hubToAlpha shows what v1alpha1 can express, and keeps the complete v1 spec and status in the status.
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

// alphaToHub starts with the kept v1 fields and overrides them with the fields of v1alpha1.
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

// hubSpec returns the kept spec of v1 with the size, image and command of v1alpha1.
func hubSpec(shown, kept raw) value {
	fields := shown.pick("size", "image", "command")
	spec := map[string]value{}
	move(fields, "size", spec, "replicas")
	template := kept.pick("template")["template"]
	if !template.isObject() {
		if isEmpty(fields["command"]) { // the short form of v1, which has no command
			move(fields, "image", spec, "image")
			return edited{kept, spec}
		}
		template, spec["image"] = nil, nil
	}
	first, container := firstContainer(template), map[string]value{}
	if first == nil {
		if fields["image"] == nil && fields["command"] == nil { // neither a container nor fields for one
			return edited{kept, spec}
		}
		container["name"] = stringOf(v1.ShorthandContainer)
	}
	move(fields, "image", container, "image")
	move(fields, "command", container, "command")
	spec["template"] = withFirstContainer(template, edited{first, container})
	return edited{kept, spec}
}

// move copies a field from one object to another under the name as. If the field is missing in from, it is removed from the result.
func move(from map[string]raw, name string, to map[string]value, as string) {
	if to[as] = nil; from[name] != nil {
		to[as] = from[name]
	}
}

// isEmpty reports whether a command is an empty list, or not a list at all.
func isEmpty(command raw) bool {
	for range bounds.Elements(command) {
		return false
	}
	return true
}

// firstContainer returns the first container of a template, or nil if there is none.
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

// decode returns the object in a string, or nil if there is none. If an API server lets a client write an invalid value, the object has only the
// fields of v1alpha1, and the conversion does not fail.
func decode(kept raw) raw {
	object := raw(bytes.TrimSpace([]byte(kept.text())))
	if !object.isObject() || !json.Valid(object) || bounds.Check(object, nil) != nil {
		return nil
	}
	return object
}
