package apiserver

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Schema is the part of an OpenAPI schema that declares fields and their defaults.
type Schema struct {
	Default              any
	Properties           map[string]*Schema
	AdditionalProperties *Schema
	Items                *Schema
	PreservesUnknown     bool `json:"x-kubernetes-preserve-unknown-fields"`
}

// ParseCRD returns the custom resource of a CustomResourceDefinition in its storage version. Parsing is slow, so servers can share the result.
func ParseCRD(definition []byte) (*Resource, error) {
	var crd struct {
		Spec struct {
			Group, Scope string
			Names        struct{ Kind, Plural string }
			Versions     []struct {
				Name         string
				Storage      bool
				Schema       struct{ OpenAPIV3Schema *Schema }
				Subresources struct{ Status, Scale *struct{} }
			}
		}
	}
	if err := yaml.Unmarshal(definition, &crd); err != nil {
		return nil, fmt.Errorf("the CRD cannot be decoded: %w", err)
	}
	for _, version := range crd.Spec.Versions {
		if !version.Storage {
			continue
		}
		names := crd.Spec.Names
		found := &Resource{
			GroupVersionKind: schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: names.Kind},
			Name:             names.Plural, schema: version.Schema.OpenAPIV3Schema, traits: hasGeneration | needsVersion,
		}
		if crd.Spec.Scope == "Cluster" {
			found.traits |= clusterWide
		}
		if version.Subresources.Status != nil {
			found.traits |= hasStatus
		}
		if version.Subresources.Scale != nil {
			found.traits |= hasScale
		}
		return found, nil
	}
	return nil, fmt.Errorf("the CRD %s has no stored version", crd.Spec.Names.Plural)
}

// fill adds missing defaults to a value.
func (s *Schema) fill(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if _, found := value[name]; !found && property.Default != nil {
				value[name] = integers(runtime.DeepCopyJSONValue(property.Default))
			}
		}
		for name, field := range value {
			if next := s.of(name); next != nil {
				next.fill(field)
			}
		}
	case []any:
		if s.Items != nil {
			for _, item := range value {
				s.Items.fill(item)
			}
		}
	}
}

// prune removes fields that the schema does not declare.
func (s *Schema) prune(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Collect(maps.Keys(value)) {
			if next := s.of(name); next != nil {
				next.prune(value[name])
			} else if !s.PreservesUnknown && len(s.Properties) > 0 {
				delete(value, name)
			}
		}
	case []any:
		if s.Items != nil {
			for _, item := range value {
				s.Items.prune(item)
			}
		}
	}
}

func (s *Schema) of(field string) *Schema {
	if property, found := s.Properties[field]; found {
		return property
	}
	return s.AdditionalProperties
}

// integers converts whole numbers to int64, the type that decoded objects use.
func integers(value any) any {
	switch value := value.(type) {
	case float64:
		if whole := int64(value); float64(whole) == value {
			return whole
		}
	case map[string]any:
		for name, field := range value {
			value[name] = integers(field)
		}
	}
	return value
}
