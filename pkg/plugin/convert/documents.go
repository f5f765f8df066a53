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

	"github.com/mycompany/podmanager/pkg/plugin/text"
)

// File has the objects of a YAML or JSON file.
type File struct {
	// Objects are of kinds that can be converted. Autoscalers are the HorizontalPodAutoscalers that scale them.
	Objects, Autoscalers []*unstructured.Unstructured
	// Others are all other objects, such as Services. convert leaves them out.
	Others []*unstructured.Unstructured
}

// Documents reads a YAML or JSON file, which may have several documents and lists. It returns an error if the file has no object to convert.
func Documents(data []byte) (File, error) {
	var file File
	var others []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return File{}, err
		}
		found, err := objectsIn(document)
		if err != nil {
			return File{}, fmt.Errorf("document %d: %w", number, err)
		}
		for _, object := range found {
			if Check(object.GroupVersionKind().GroupKind()) == nil {
				file.Objects = append(file.Objects, object)
			} else {
				others = append(others, object)
			}
		}
	}
	for _, other := range others {
		if isAutoscaler(other) && slices.ContainsFunc(file.Objects, func(object *unstructured.Unstructured) bool { return scales(other, object) }) {
			file.Autoscalers = append(file.Autoscalers, other)
		} else {
			file.Others = append(file.Others, other)
		}
	}
	switch {
	case len(file.Objects) > 0:
		return file, nil
	case len(others) > 0:
		return File{}, fmt.Errorf("%s cannot be converted; convert takes %s", list(others), Kinds())
	default:
		return File{}, fmt.Errorf("there is no object to convert; convert takes %s", Kinds())
	}
}

// Warning names the objects that convert leaves out. It is empty if there are none.
func (f File) Warning() string {
	switch len(f.Others) {
	case 0:
		return ""
	case 1:
		return list(f.Others) + " is left out, because it cannot be converted; if the cluster does not have it yet, apply it from a file of its own"
	default:
		return list(f.Others) +
			" are left out, because they cannot be converted; if the cluster does not have them yet, apply them from a file of their own"
	}
}

// list names objects.
func list(objects []*unstructured.Unstructured) string {
	var names []string
	for _, object := range objects {
		names = append(names, from(object)+" ("+text.OneLine(object.GetAPIVersion())+")")
	}
	return strings.Join(names, ", ")
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
