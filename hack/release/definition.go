package main

import (
	"fmt"
	"strings"
)

// addDefinition adds the CRD that the operator owns. For each field that bundle.yaml names, it adds the description from the CRD.
func addDefinition(spec, crd map[string]any) error {
	versions, _ := at(crd, "spec", "versions").([]any)
	definitions, _ := at(spec, "customresourcedefinitions", "owned").([]any)
	if len(versions) != 1 || len(definitions) != 1 {
		return fmt.Errorf("the CRD has %d versions and bundle.yaml owns %d, want one of each", len(versions), len(definitions))
	}
	owned := definitions[0].(map[string]any)
	owned["name"] = text(crd, "metadata", "name")
	owned["kind"] = text(crd, "spec", "names", "kind")
	owned["version"] = text(versions[0], "name")
	schema := at(versions[0], "schema", "openAPIV3Schema")
	owned["description"] = sentence(text(schema, "description"))
	for part, list := range map[string]string{"spec": "specDescriptors", "status": "statusDescriptors"} {
		descriptors, _ := owned[list].([]any)
		for _, descriptor := range descriptors {
			path := text(descriptor, "path")
			field := at(schema, append([]string{"properties", part}, propertyPath(path)...)...)
			if text(field, "description") == "" {
				return fmt.Errorf("bundle.yaml has %s.%s, but the CRD has no such field, or no description of it", part, path)
			}
			descriptor.(map[string]any)["description"] = sentence(text(field, "description"))
		}
	}
	return nil
}

// propertyPath returns the path of a field in a schema: each name is below properties.
func propertyPath(path string) []string {
	var keys []string
	for name := range strings.SplitSeq(path, ".") {
		keys = append(keys, "properties", name)
	}
	return keys
}

// sentence returns the first sentence of a description, in one line.
func sentence(description string) string {
	line := strings.Join(strings.Fields(description), " ")
	if first, _, more := strings.Cut(line, ". "); more {
		return first + "."
	}
	return line
}
