package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"
)

const artifacts = "../../../artifacts/integrations/kustomize"

// files are the files of a kustomization, by path.
type files map[string]string

// build returns the objects that Kustomize makes of a folder, as "KIND NAME". The component of artifacts/ is in /component.
func build(files files, folder string) (map[string]map[string]any, error) {
	// The schema is a variable of the package, which outlives a build: what one test has set would be there in the next one.
	openapi.ResetOpenAPI()
	system := filesys.MakeFsInMemory()
	component, err := filepath.Glob(filepath.Join(artifacts, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, path := range component {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := system.WriteFile("/component/"+filepath.Base(path), data); err != nil {
			return nil, err
		}
	}
	for path, content := range files {
		if err := system.WriteFile(path, []byte(content)); err != nil {
			return nil, err
		}
	}
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(system, folder)
	if err != nil {
		return nil, err
	}
	objects := map[string]map[string]any{}
	for _, resource := range result.Resources() {
		data, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		var object map[string]any
		if err := yaml.Unmarshal(data, &object); err != nil {
			return nil, err
		}
		objects[resource.GetKind()+" "+resource.GetName()] = object
	}
	return objects, nil
}

// kustomization returns a kustomization of all resources in objects.yaml and of more lines; with the component or without it.
func kustomization(component bool, more string) string {
	head := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [objects.yaml]\n"
	if component {
		head += "components: [../component]\n"
	}
	return head + more
}

// get returns the value at a path such as "spec.template.spec.containers.0.image", as YAML writes it in one line.
func get(object map[string]any, path string) string {
	var value any = object
	for _, key := range strings.Split(path, ".") {
		switch node := value.(type) {
		case map[string]any:
			value = node[strings.ReplaceAll(key, "~", ".")]
		case []any:
			var index int
			if _, err := fmt.Sscan(key, &index); err != nil || index >= len(node) {
				return "absent"
			}
			value = node[index]
		default:
			return "absent"
		}
	}
	if value == nil {
		return "absent"
	}
	return fmt.Sprint(value)
}

// compare returns an error for each value that is not as wanted, by "KIND NAME: PATH".
func compare(objects map[string]map[string]any, want map[string]string) map[string]error {
	wrong := map[string]error{}
	for place, value := range want {
		object, path, _ := strings.Cut(place, ": ")
		if objects[object] == nil {
			wrong[place] = fmt.Errorf("there is no %s, only %v", object, slices.Sorted(maps.Keys(objects)))
		} else if got := get(objects[object], path); got != value {
			wrong[place] = fmt.Errorf("%s of %s is %s, want %s", path, object, got, value)
		}
	}
	return wrong
}

// check fails for each value that is not as wanted.
func check(t *testing.T, objects map[string]map[string]any, want map[string]string) {
	t.Helper()
	for _, err := range compare(objects, want) {
		t.Error(err)
	}
}

// expect builds a kustomization with the component, and fails if a value is not as wanted. It also builds it without the component. The values in
// changed must then be different or missing, because otherwise they would say nothing about the component. The values in kept must be the same.
func expect(t *testing.T, objects, more string, changed, kept map[string]string) {
	t.Helper()
	with, err := build(files{"/app/objects.yaml": objects, "/app/kustomization.yaml": kustomization(true, more)}, "/app")
	if err != nil {
		t.Fatalf("with the component: %v", err)
	}
	check(t, with, changed)
	check(t, with, kept)
	without, err := build(files{"/app/objects.yaml": objects, "/app/kustomization.yaml": kustomization(false, more)}, "/app")
	if err != nil {
		t.Logf("without the component there is an error: %v", err)
		return
	}
	wrong := compare(without, changed)
	for place := range changed {
		if wrong[place] == nil {
			t.Errorf("%s is the same without the component", place)
		}
	}
	check(t, without, kept)
}
