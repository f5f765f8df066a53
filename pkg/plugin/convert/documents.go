package convert

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Documents returns the objects in a YAML or JSON file, which may have several documents and lists, and the HorizontalPodAutoscalers that scale
// them. All other objects must be of a kind that can be converted.
func Documents(data []byte) (objects, autoscalers []*unstructured.Unstructured, err error) {
	var others []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		found, err := objectsIn(document)
		if err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", number, err)
		}
		for _, object := range found {
			if Check(object.GroupVersionKind().GroupKind()) == nil {
				objects = append(objects, object)
			} else {
				others = append(others, object)
			}
		}
	}
	var unknown []string
	for _, other := range others {
		if isAutoscaler(other) && slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool { return scales(other, object) }) {
			autoscalers = append(autoscalers, other)
		} else {
			unknown = append(unknown, from(other)+" ("+other.GetAPIVersion()+")")
		}
	}
	switch {
	case len(unknown) > 0:
		return nil, nil, fmt.Errorf("%s cannot be converted, so nothing was converted; convert takes %s", strings.Join(unknown, ", "), Kinds())
	case len(objects) == 0:
		return nil, nil, fmt.Errorf("there is no object to convert; convert takes %s", Kinds())
	default:
		return objects, autoscalers, nil
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
		return nil, fmt.Errorf("it is not a Kubernetes object: %w", err)
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

// encode returns an object in YAML. It decodes the result as a check: the library encodes some strings, such as one with a DEL character, in a form
// that it cannot decode.
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
