package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// manifest is one object of artifacts/*.yaml, both as text with its comments and decoded.
type manifest struct {
	text   string
	object map[string]any
}

func (m manifest) kind() string { return text(m.object, "kind") }
func (m manifest) name() string { return text(m.object, "metadata", "name") }

// readManifests reads the objects of artifacts/kustomization.yaml. It does the work of kustomize itself, so that no kubectl is needed and its
// version does not affect the result. It supports only resources, and refuses anything else.
func readManifests(folder string) ([]manifest, error) {
	const list = "kustomization.yaml"
	data, err := os.ReadFile(filepath.Join(folder, list))
	if err != nil {
		return nil, err
	}
	var kustomization struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Resources  []string `json:"resources"`
	}
	if err := yaml.UnmarshalStrict(data, &kustomization); err != nil {
		return nil, fmt.Errorf("%s has fields besides resources, which hack/release does not support: %w", list, err)
	}
	var manifests []manifest
	for _, resource := range kustomization.Resources {
		data, err := os.ReadFile(filepath.Join(folder, resource))
		if err != nil {
			return nil, err
		}
		for part := range strings.SplitSeq(string(data), "\n---\n") {
			one := manifest{text: strings.Trim(part, "\n") + "\n"}
			if err := yaml.Unmarshal([]byte(part), &one.object); err != nil {
				return nil, fmt.Errorf("%s: %w", resource, err)
			}
			if one.kind() == "" || one.name() == "" {
				return nil, fmt.Errorf("%s has an object without kind or name:\n%s", resource, one.text)
			}
			manifests = append(manifests, one)
		}
	}
	return manifests, nil
}

// imageLine matches a container's image, with a comment about the image of the tree.
var imageLine = regexp.MustCompile(`(?m)^( +(?:- )?image: )\S+(?: +#.*)?$`)

// installYAML returns all manifests as one file, with the image of the release.
func installYAML(manifests []manifest, stamps stamps, url string) (string, error) {
	var all strings.Builder
	fmt.Fprintf(&all, "# PodManager %s: kubectl apply -f %s/%s\n", stamps.version, url, installFile)
	deployments := 0
	for i, one := range manifests {
		content := one.text
		if one.kind() == "Deployment" {
			deployments++
			if found := len(imageLine.FindAllString(content, -1)); found != 1 {
				return "", fmt.Errorf("the Deployment %s has %d images, want one", one.name(), found)
			}
			content = imageLine.ReplaceAllString(content, "${1}"+stamps.image.pinned())
		}
		if i > 0 {
			all.WriteString("---\n")
		}
		all.WriteString(content)
	}
	if deployments != 1 {
		return "", fmt.Errorf("there are %d Deployments, want one", deployments)
	}
	return all.String(), nil
}

// at returns the value at a path of an object, or nil.
func at(object any, path ...string) any {
	for _, key := range path {
		mapping, ok := object.(map[string]any)
		if !ok {
			return nil
		}
		object = mapping[key]
	}
	return object
}

// text returns the string at a path of an object, or empty.
func text(object any, path ...string) string {
	found, _ := at(object, path...).(string)
	return found
}
