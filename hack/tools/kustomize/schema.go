package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	kinds         = "x-kubernetes-group-version-kind"
	patchStrategy = "x-kubernetes-patch-strategy"
	reference     = "#/definitions/"
)

// mergeExtensions are what Kustomize reads of a field.
var mergeExtensions = []string{patchStrategy, "x-kubernetes-patch-merge-key", "x-kubernetes-list-map-keys"}

// definitions are schemas by name.
type definitions spec.Definitions

// prune returns what Kustomize needs of a schema to merge lists: the fields with a patch strategy, and those that lead to one.
func prune(all spec.Definitions) definitions {
	merging := merging(all)
	pruned := definitions{}
	for name := range merging {
		full := all[name]
		definition := spec.Schema{}
		definition.Type = spec.StringOrArray{"object"}
		definition.Properties = map[string]spec.Schema{}
		for field, property := range full.Properties {
			if matters(property, merging) {
				definition.Properties[field] = pruneProperty(property, merging)
			}
		}
		if kind, ok := full.Extensions[kinds]; ok {
			definition.Extensions = spec.Extensions{kinds: kind}
		}
		pruned[name] = definition
	}
	return pruned
}

// merging returns the names of all definitions in which, however deep, a list is merged.
func merging(all spec.Definitions) map[string]bool {
	found := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for name, definition := range all {
			if found[name] {
				continue
			}
			for _, property := range definition.Properties {
				if matters(property, found) {
					found[name], grown = true, true
					break
				}
			}
		}
	}
	return found
}

// matters reports whether a field has a patch strategy, or refers to a definition that matters.
func matters(property spec.Schema, merging map[string]bool) bool {
	if _, ok := property.Extensions[patchStrategy]; ok {
		return true
	}
	return merging[target(property)] || merging[target(items(property))] || merging[target(values(property))]
}

// pruneProperty returns a field without its description, and without references to definitions that do not matter.
func pruneProperty(property spec.Schema, merging map[string]bool) spec.Schema {
	pruned := spec.Schema{}
	if merging[target(property)] {
		pruned.Ref = property.Ref
	}
	pruned.Type = property.Type
	if of := items(property); merging[target(of)] {
		pruned.Items = &spec.SchemaOrArray{Schema: &spec.Schema{SchemaProps: spec.SchemaProps{Ref: of.Ref}}}
	}
	if of := values(property); merging[target(of)] {
		pruned.AdditionalProperties = &spec.SchemaOrBool{Schema: &spec.Schema{SchemaProps: spec.SchemaProps{Ref: of.Ref}}}
	}
	for _, name := range mergeExtensions {
		if value, ok := property.Extensions[name]; ok {
			pruned.AddExtension(name, value)
		}
	}
	return pruned
}

// items returns the schema of a list's items; empty if it is no list.
func items(property spec.Schema) spec.Schema {
	if property.Items == nil || property.Items.Schema == nil {
		return spec.Schema{}
	}
	return *property.Items.Schema
}

// values returns the schema of a map's values; empty if it is no map.
func values(property spec.Schema) spec.Schema {
	if property.AdditionalProperties == nil || property.AdditionalProperties.Schema == nil {
		return spec.Schema{}
	}
	return *property.AdditionalProperties.Schema
}

// target returns the name of the definition that a schema refers to, or empty.
func target(schema spec.Schema) string {
	name, ok := strings.CutPrefix(schema.Ref.String(), reference)
	if !ok {
		return ""
	}
	return name
}

const (
	objectMeta  = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	podTemplate = "io.k8s.api.core.v1.PodTemplateSpec"
)

// addPodManager adds the PodManager. All lists that it has besides those of its metadata are in the pod template, which is that of a Deployment.
func addPodManager(all definitions) error {
	for _, name := range []string{objectMeta, podTemplate} {
		if _, ok := all[name]; !ok {
			return fmt.Errorf("the schema that is built into Kustomize has no %s, or no list of it is merged", name)
		}
	}
	object := func(properties map[string]spec.Schema) spec.Schema {
		return spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: properties}}
	}
	manager := object(map[string]spec.Schema{
		"metadata": *spec.RefSchema(reference + objectMeta),
		"spec":     object(map[string]spec.Schema{"template": *spec.RefSchema(reference + podTemplate)}),
	})
	manager.AddExtension(kinds, []any{map[string]any{"group": "apps.mycompany.com", "kind": "PodManager", "version": "v1"}})
	all["com.mycompany.apps.v1.PodManager"] = manager
	return nil
}

// print writes the definitions in the order of their names.
func (all definitions) print(out io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		line, err := json.Marshal(all[name])
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "  %s: %s\n", name, line); err != nil {
			return err
		}
	}
	return nil
}
