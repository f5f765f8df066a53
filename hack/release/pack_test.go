package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSums(t *testing.T) {
	const want = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a.txt\n" +
		"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b.txt\n"
	if got := string(sums([]file{{"a.txt", 0o644, []byte("a")}, {"b.txt", 0o644, []byte("b")}})); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

// TestReplaceFiles checks that no file of an older release is left, and that the bundle stays.
func TestReplaceFiles(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "bundle"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a_v0.1.0", "a_v0.2.0"} {
		if err := replaceFiles(folder, []file{{name, 0o644, []byte(name)}}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if want := []string{"a_v0.2.0", "bundle"}; !slices.Equal(names, want) {
		t.Errorf("there are %v, want %v", names, want)
	}
}

func TestImageDigest(t *testing.T) {
	folder := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(folder, "index.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"manifests": [{"digest": "sha256:abc", "size": 1, "annotations": {"org.opencontainers.image.ref.name": "v0.2.0"}}]}`)
	if got, err := imageDigest(folder, "v0.2.0"); err != nil || got != "sha256:abc" {
		t.Errorf("got %q (error %v)", got, err)
	}
	if got, err := imageDigest(folder, "v0.3.0"); err == nil {
		t.Errorf("got %q from the layout of another version", got)
	}
	write(`{"manifests": []}`)
	if got, err := imageDigest(folder, "v0.2.0"); err == nil {
		t.Errorf("got %q from a layout without an image", got)
	}
}

// TestTell checks that a person who has never made a release can continue from the output.
func TestTell(t *testing.T) {
	p := packing{stamps: testStamps("v0.2.0"), url: "https://example.com/v0.2.0", out: ".release"}
	var told strings.Builder
	p.tell(&told, []file{{"install.yaml", 0o644, make([]byte, 12345)}, {"SHA256SUMS", 0o644, nil}})
	for _, want := range []string{
		"  install.yaml      12.3 kB\n", "make image-push VERSION=v0.2.0 IMG=mycompany/podmanager:v0.2.0", testDigest,
		"git tag -a v0.2.0 ", "upload all files of .release to https://example.com/v0.2.0\n", "make bundle VERSION=v0.2.0",
	} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("%q is not in\n%s", want, told.String())
		}
	}
}
