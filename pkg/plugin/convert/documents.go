package convert

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Documents returns the objects in a YAML or JSON file, which may have several documents and lists. All objects must be of a known kind.
func Documents(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	var unknown []string
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		found, err := objectsIn(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		for _, object := range found {
			if Check(object.GroupVersionKind().GroupKind()) != nil {
				unknown = append(unknown, from(object)+" ("+object.GetAPIVersion()+")")
			}
			objects = append(objects, object)
		}
	}
	switch {
	case len(unknown) > 0:
		return nil, fmt.Errorf("%s cannot be converted, and nothing was; what can be is %s", strings.Join(unknown, ", "), Kinds())
	case len(objects) == 0:
		return nil, fmt.Errorf("there is no object; what can be converted is %s", Kinds())
	default:
		return objects, nil
	}
}

// objectsIn returns the objects of one document: none if it is empty, several if it is a list.
func objectsIn(document []byte) ([]*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, err
	}
	if text := strings.TrimSpace(string(data)); text == "" || text == "null" {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("it is no object of Kubernetes: %w", err)
	}
	if !object.IsList() {
		return []*unstructured.Unstructured{object}, nil
	}
	var objects []*unstructured.Unstructured
	err = object.EachListItem(func(item runtime.Object) error {
		objects = append(objects, item.(*unstructured.Unstructured))
		return nil
	})
	return objects, err
}

// Manifest returns the PodManager in YAML, with the notes as comments above it.
func (r Result) Manifest() (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "# Made from %s. What to know:\n", r.From)
	for _, note := range r.Notes {
		fmt.Fprintf(&text, "# - %s\n", note)
	}
	data, err := encode(r.Manager)
	text.WriteString(data)
	return text.String(), err
}

// encode returns an object in YAML. It decodes the result as a check: the library writes some strings, such as one with a DEL, that it cannot
// read.
func encode(object *unstructured.Unstructured) (string, error) {
	data, err := yaml.Marshal(object.Object)
	if err == nil {
		err = yaml.Unmarshal(data, &map[string]any{})
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot be written as YAML: %w", from(object), err)
	}
	return string(data), nil
}
