//go:build e2e

package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// sums returns all files under a folder with their checksums.
func sums(t *testing.T, folder string) []string {
	t.Helper()
	lines := []string{}
	files := os.DirFS(folder)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		lines = append(lines, fmt.Sprintf("%x %s", sha256.Sum256(data), name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestE2ESameImageTwice builds the same sources again, in another place and as another user, and checks that the bytes of every file are the same:
// programs, layout, tars and SBOMs.
func TestE2ESameImageTwice(t *testing.T) {
	t.Parallel() // like all tests that mostly wait for a compiler
	first := sums(t, built(t))
	copied, out := t.TempDir(), t.TempDir()
	for _, path := range []string{"Makefile", "go.mod", "go.sum", "vendor", "pkg", "cmd", "hack"} {
		copyTree(t, root(t), copied, path, nil)
	}
	makeTarget(t, copied, "image", out, []string{
		"TZ=Asia/Kathmandu", "LANG=C", "GOFLAGS=-tags=mine -buildvcs=auto", "GOAMD64=v3", "GOARM64=v8.5", "CGO_ENABLED=1",
	})
	if second := sums(t, out); !slices.Equal(first, second) {
		t.Errorf("the same sources gave\n%q\nand then\n%q", first, second)
	}
}

func TestE2EImage(t *testing.T) {
	folder := built(t)
	entry := onlyEntry(t, filepath.Join(folder, "layout"))
	if want := "docker.io/mycompany/podmanager:" + testVersion; entry.Annotations["io.containerd.image.name"] != want {
		t.Errorf("the image is called %v, want %s", entry.Annotations, want)
	}
	entries, err := layout.ImageIndexFromPath(filepath.Join(folder, "layout"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := entries.ImageIndex(entry.Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range manifest.Manifests[:2] {
		image, err := index.Image(line.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(image); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(filepath.Join(folder, "podmanager_linux_"+line.Platform.Architecture+".spdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		checkSBOM(t, text, filepath.Join(folder, "linux", line.Platform.Architecture, "controller"), testVersion)
	}
}
