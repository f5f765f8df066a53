package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	v1 "github.com/mycompany/podmanager/pkg/apis/podmanager/v1"
)

// Manifest is a PodManager read from a file.
type Manifest struct {
	// Fields is the object as written, which distinguishes an omitted field from one that is set to its zero value.
	Fields  map[string]any
	Manager *v1.PodManager
}

// Read finds the PodManager called name among the documents of a file and skips documents of other kinds. The name may be empty if the file has
// only one PodManager.
func Read(file string, data []byte, name string) (Manifest, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var found []Manifest
	var names, kinds []string
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Manifest{}, fmt.Errorf("%s: %w", file, err)
		}
		one, kind, err := decode(document)
		switch {
		case err != nil:
			return Manifest{}, fmt.Errorf("%s: %w", file, err)
		case one.Manager != nil:
			names = append(names, one.Manager.Name)
			if name == "" || name == one.Manager.Name {
				found = append(found, one)
			}
		case kind != "":
			kinds = append(kinds, kind)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1 && name == "":
		return Manifest{}, fmt.Errorf("%s has several PodManagers; name one of them: %s", file, strings.Join(names, ", "))
	case len(found) > 1:
		return Manifest{}, fmt.Errorf("%s has several PodManagers named %s", file, name)
	case len(names) > 0:
		return Manifest{}, fmt.Errorf("%s has no PodManager %s, but %s", file, name, strings.Join(names, ", "))
	case len(kinds) > 0:
		return Manifest{}, fmt.Errorf("%s has no PodManager, but %s", file, strings.Join(kinds, ", "))
	default:
		return Manifest{}, fmt.Errorf("%s is empty", file)
	}
}

// decode decodes a document. The Manager is nil if the document is of another kind. An unknown field is an error, as it is for kubectl apply.
func decode(document []byte) (one Manifest, kind string, err error) {
	if err := yaml.Unmarshal(document, &one.Fields); err != nil {
		return Manifest{}, "", err
	}
	kind, _ = one.Fields["kind"].(string)
	group, _ := one.Fields["apiVersion"].(string)
	if kind != v1.Kind || !strings.HasPrefix(group, v1.GroupName+"/") {
		return Manifest{}, kind, nil
	}
	if group != v1.GroupVersionKind.GroupVersion().String() {
		return Manifest{}, "", fmt.Errorf("the apiVersion is %s; this plugin knows %s", group, v1.GroupVersionKind.GroupVersion())
	}
	one.Manager = &v1.PodManager{}
	if err := yaml.UnmarshalStrict(document, one.Manager); err != nil {
		return Manifest{}, "", err
	}
	if one.Manager.Name == "" {
		return Manifest{}, "", errors.New("the PodManager has no metadata.name")
	}
	delete(one.Fields, "status") // apply does not write the status
	return one, kind, nil
}
