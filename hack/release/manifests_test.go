package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const artifacts = "../../artifacts"

// TestInstallYAML checks that the file has the objects of the tree, in an order in which they can be applied, and that only the image differs.
func TestInstallYAML(t *testing.T) {
	manifests, err := readManifests(artifacts)
	if err != nil {
		t.Fatal(err)
	}
	stamps := testStamps("v0.2.0")
	stamps.image.name = "registry.example.com/podmanager"
	install, err := installYAML(manifests, stamps, "https://example.com/v0.2.0")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(install, "# PodManager v0.2.0: kubectl apply -f https://example.com/v0.2.0/install.yaml\n") {
		t.Errorf("install.yaml begins with %.100q", install)
	}
	parts := strings.Split(install, "\n---\n")
	if len(parts) != len(manifests) {
		t.Fatalf("%d objects, want %d", len(parts), len(manifests))
	}
	if namespace, account := strings.Index(install, "\nkind: Namespace\n"), strings.Index(install, "\nkind: ServiceAccount\n"); namespace < 0 || account < namespace {
		t.Errorf("the Namespace is at %d, the ServiceAccount in it at %d", namespace, account)
	}
	changed := []string{}
	for i, part := range parts {
		for line := range strings.Lines(part + "\n") {
			if i > 0 && !strings.Contains(manifests[i].text, line) {
				changed = append(changed, strings.TrimSpace(line))
			}
		}
	}
	if len(changed) != 1 || changed[0] != "image: registry.example.com/podmanager:v0.2.0@"+testDigest {
		t.Errorf("the changed lines are %q, want only the image", changed)
	}
}

func TestKustomizationThatSaysMore(t *testing.T) {
	folder := t.TempDir()
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\nnamePrefix: a-\n"
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readManifests(folder); err == nil || !strings.Contains(err.Error(), "namePrefix") {
		t.Errorf("error %v, want one that names the field", err)
	}
}

func TestInstallYAMLNeedsOneImage(t *testing.T) {
	for name, text := range map[string]string{
		"two images":    "kind: Deployment\nmetadata: {name: a}\nspec:\n  - image: a\n  - image: b\n",
		"no Deployment": "kind: DaemonSet\nmetadata: {name: a}\nspec:\n  - image: a\n",
	} {
		one := manifest{text: text, object: map[string]any{"kind": strings.Fields(text)[1], "metadata": map[string]any{"name": "a"}}}
		if install, err := installYAML([]manifest{one}, testStamps("v0.2.0"), ""); err == nil {
			t.Errorf("%s: made\n%s", name, install)
		}
	}
}
