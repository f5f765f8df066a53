package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// TestArchive reads the tar both as a Docker archive and as an OCI layout.
func TestArchive(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "web.tar")
	program := compiled(t, "linux/amd64")
	if err := run([]string{"archive", "-program", program, "-ref", "local/web:1", "-out", path, "-env", "VERSION=1"}); err != nil {
		t.Fatal(err)
	}
	image, err := programImage(program, contents{Created: epoch, Env: []string{"VERSION=1"}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	id, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}

	docker, err := crane.LoadTag(path, "docker.io/local/web:1")
	if err != nil {
		t.Fatal(err)
	}
	// Docker identifies an image by its configuration.
	if got, err := docker.ConfigName(); err != nil || got != id {
		t.Errorf("as a Docker archive the image is %s (error %v), want %s", got, err, id)
	}
	unpacked := filepath.Join(folder, "unpacked")
	if err := os.Mkdir(unpacked, 0o755); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command("tar", "-xf", path, "-C", unpacked).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, output)
	}
	entry := onlyEntry(t, unpacked)
	if entry.Digest != want || entry.Annotations["io.containerd.image.name"] != "docker.io/local/web:1" ||
		entry.Annotations["org.opencontainers.image.ref.name"] != "1" || entry.Platform.String() != "linux/amd64" || entry.ArtifactType != "" {
		t.Errorf("as a layout the tar has the entry %+v, want %s", entry, want)
	}
}

func onlyEntry(t *testing.T, folder string) v1.Descriptor {
	t.Helper()
	entries, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := entries.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("entries %+v, error %v; want one", manifest, err)
	}
	return manifest.Manifests[0]
}

func TestSameArchiveTwice(t *testing.T) {
	program := compiled(t, "linux/amd64")
	var archives [2][]byte
	for i, mode := range []os.FileMode{0o755, 0o500} {
		// Neither the mode nor the time of the file may affect the image.
		if err := os.Chmod(program, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(program, testTime, testTime.AddDate(i, 0, 0)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "web.tar")
		if err := run([]string{"archive", "-program", program, "-ref", "local/web:1", "-out", path}); err != nil {
			t.Fatal(err)
		}
		var err error
		if archives[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the same program gave two archives")
	}
}

func TestReferences(t *testing.T) {
	for text, want := range map[string]reference{
		"web:1":                        {"docker.io/library/web:1", "1"},
		"web":                          {"docker.io/library/web:latest", "latest"},
		"local/web:1":                  {"docker.io/local/web:1", "1"},
		"docker.io/local/web:1":        {"docker.io/local/web:1", "1"},
		"127.0.0.1:5000/podmanager:v1": {"127.0.0.1:5000/podmanager:v1", "v1"},
	} {
		if got, err := parseReference(text); err != nil || got != want {
			t.Errorf("%s: got %+v (error %v), want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "Web:1", "local/web:", "a b"} {
		if _, err := parseReference(text); err == nil || !strings.Contains(err.Error(), "say NAME:TAG") {
			t.Errorf("%q: error %v, want one that says what to write", text, err)
		}
	}
}

func TestUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"usage: image COMMAND":                  nil,
		"usage: image COMMAND ":                 {"bake"},
		"archive needs -program, -ref and -out": {"archive"},
		"build needs -ref, -out, -version":      {"build", "-ref", "a:b"},
		"push needs -layout and -ref":           {"push"},
		"sbom needs -program, -version and":     {"sbom", "-program", "web"},
		"must be KEY=VALUE":                     {"archive", "-env", "VERSION"},
		"is not an image (":                     {"push", "-layout", t.TempDir(), "-ref", "a:b"},
		"example.com/podmanager:v0.1.0":         {"push", "-layout", t.TempDir(), "-ref", "A B"},
		`cannot parse "yesterday"`:              {"archive", "-created", "yesterday"},
	} {
		if err := run(args); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v: error %v, want one with %q", args, err, want)
		}
	}
}
